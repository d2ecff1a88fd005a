//! A placeholder: the peers of the prototype, until those in their own files replace it.

#![allow(clippy::all, clippy::pedantic, missing_docs, missing_debug_implementations, reason = "a placeholder")]

use super::{Controller, Outcome, Sample};
use crate::random::Random;
pub const MAX: f64 = 400.0;
fn lg(l: f64) -> f64 {
    libm::log10(l.max(1.0)).floor().max(1.0)
}
/// Netflix AIMDLimit: backoff .9, timeout (5 s is theirs; here as told).
pub struct Aimd {
    pub l: u32,
    pub timeout: f64,
}
impl Controller for Aimd {
    fn sample(&mut self, s: &Sample) {
        if s.outcome == Outcome::Ignore {
            return;
        }
        if s.outcome == Outcome::Overload || s.hold > self.timeout {
            self.l = 1.max((self.l - 1).min((self.l as f64 * 0.9) as u32))
        } else if s.in_flight * 2 >= self.l {
            self.l = (self.l + 1).min(MAX as u32)
        }
    }
    fn limit(&self) -> u32 {
        self.l
    }
}
/// Netflix WindowedLimit around another, 1 s, 10 samples, mean.
pub struct Windowed<C> {
    pub inner: C,
    next: f64,
    sum: f64,
    n: u32,
    min: f64,
    maxin: u32,
    drop: bool,
}
impl<C> Windowed<C> {
    pub fn new(inner: C) -> Self {
        Windowed { inner, next: 0.0, sum: 0.0, n: 0, min: f64::MAX, maxin: 0, drop: false }
    }
}
impl<C: Controller> Controller for Windowed<C> {
    fn sample(&mut self, s: &Sample) {
        if s.outcome == Outcome::Ignore || s.hold < 1e-4 {
            return;
        }
        if s.outcome == Outcome::Overload {
            self.drop = true;
            self.maxin = self.maxin.max(s.in_flight)
        } else {
            self.sum += s.hold;
            self.n += 1;
            self.min = self.min.min(s.hold);
            self.maxin = self.maxin.max(s.in_flight)
        }
        if s.now > self.next {
            self.next = s.now + 1.0;
            if self.min < f64::MAX && self.n >= 10 {
                let w = Sample {
                    hold: self.sum / self.n as f64,
                    in_flight: self.maxin,
                    outcome: if self.drop { Outcome::Overload } else { Outcome::Success },
                    ..*s
                };
                self.inner.sample(&w);
            }
            self.sum = 0.0;
            self.n = 0;
            self.min = f64::MAX;
            self.maxin = 0;
            self.drop = false;
        }
    }
    fn limit(&self) -> u32 {
        self.inner.limit()
    }
}
/// Netflix VegasLimit; `guard`: OpenSearch's guards (baseline reset only below a share of the limit
/// in flight; barriers).
pub struct Vegas {
    l: f64,
    r0: f64,
    probe: u32,
    jit: f64,
    rng: Random,
    guard: bool,
    up: u32,
    down: u32,
}
impl Vegas {
    pub fn new(l0: u32, seed: u64, guard: bool) -> Self {
        let mut rng = Random::new(seed ^ 77);
        let jit = 0.5 + 0.5 * rng.unit();
        Vegas { l: l0 as f64, r0: 0.0, probe: 0, jit, rng, guard, up: 0, down: 0 }
    }
}
impl Controller for Vegas {
    fn sample(&mut self, s: &Sample) {
        if s.outcome == Outcome::Ignore {
            return;
        }
        let drop = s.outcome == Outcome::Overload;
        self.probe += 1;
        if self.jit * 30.0 * self.l <= self.probe as f64 {
            self.jit = 0.5 + 0.5 * self.rng.unit();
            self.probe = 0;
            if !self.guard || (s.in_flight as f64) < 0.5 * self.l {
                self.r0 = s.hold;
                return;
            }
        }
        if self.r0 == 0.0 || s.hold < self.r0 {
            self.r0 = s.hold;
            return;
        }
        let l = self.l;
        let q = (l * (1.0 - self.r0 / s.hold)).ceil();
        let g = lg(l);
        let mut nl = l;
        if drop {
            nl = l - g
        } else if (s.in_flight as f64) * 2.0 < l {
            return;
        } else if q <= g {
            nl = l + 6.0 * g
        } else if q < 3.0 * g {
            nl = l + g
        } else if q > 6.0 * g {
            nl = l - g
        }
        if self.guard && !drop {
            // barriers: 10 in a row before a step (their defaults were not seen; ours)
            if nl > l {
                self.up += 1;
                self.down = 0;
                if self.up < 10 {
                    return;
                }
                self.up = 0
            } else if nl < l {
                self.down += 1;
                self.up = 0;
                if self.down < 10 {
                    return;
                }
                self.down = 0
            } else {
                self.up = 0;
                self.down = 0
            }
        }
        self.l = nl.clamp(1.0, MAX);
    }
    fn limit(&self) -> u32 {
        self.l as u32
    }
}
pub struct Gradient2 {
    l: f64,
    long: f64,
    cnt: u32,
    sum: f64,
    min: f64,
}
impl Gradient2 {
    pub fn new(l0: u32, min: f64) -> Self {
        Gradient2 { l: l0 as f64, long: 0.0, cnt: 0, sum: 0.0, min }
    }
}
impl Controller for Gradient2 {
    fn sample(&mut self, s: &Sample) {
        if s.outcome == Outcome::Ignore {
            return;
        }
        let short = s.hold;
        if self.cnt < 10 {
            self.cnt += 1;
            self.sum += short;
            self.long = self.sum / self.cnt as f64
        } else {
            let f = 2.0 / 601.0;
            self.long = self.long * (1.0 - f) + short * f
        }
        if self.long / short > 2.0 {
            self.long *= 0.9
        }
        if (s.in_flight as f64) < self.l / 2.0 {
            return;
        }
        let g = (self.long / short).clamp(0.5, 1.0);
        let nl = self.l * 0.8 + 0.2 * (self.l * g + 4.0);
        self.l = nl.clamp(self.min, MAX);
    }
    fn limit(&self) -> u32 {
        self.l as u32
    }
}
/// Envoy's gradient controller: documented defaults; min-RTT every 60 s, update every 100 ms (as in
/// its example config).
pub struct Envoy {
    l: f64,
    def: f64,
    minrtt: f64,
    probing: bool,
    epoch: f64,
    hist: Vec<f64>,
    next: f64,
    next_min: f64,
    floor_runs: u32,
    rng: Random,
}
impl Envoy {
    pub fn new(seed: u64) -> Self {
        Envoy {
            l: 3.0,
            def: 3.0,
            minrtt: 0.0,
            probing: true,
            epoch: 0.0,
            hist: vec![],
            next: 0.0,
            next_min: f64::MAX,
            floor_runs: 0,
            rng: Random::new(seed ^ 99),
        }
    }
    fn median(&mut self) -> f64 {
        let k = self.hist.len() / 2;
        let (_, m, _) = self.hist.select_nth_unstable_by(k, |a, b| a.total_cmp(b));
        let m = *m;
        self.hist.clear();
        m
    }
    fn enter(&mut self, now: f64) {
        if self.probing {
            return;
        }
        self.probing = true;
        self.def = self.l;
        self.l = 3.0;
        self.hist.clear();
        self.epoch = now
    }
}
impl Controller for Envoy {
    fn sample(&mut self, s: &Sample) {
        if !self.probing && s.now >= self.next_min {
            self.enter(s.now)
        }
        if s.outcome == Outcome::Ignore {
            return;
        }
        if s.now - s.hold < self.epoch {
            return;
        }
        if !self.probing && s.now >= self.next {
            if !self.hist.is_empty() {
                let m = self.median();
                let g = (self.minrtt * 1.25 / m).clamp(0.5, 2.0);
                let l = self.l * g;
                let nl = (l + l.sqrt()).floor().clamp(3.0, MAX);
                if self.l == 3.0 && nl == 3.0 {
                    self.floor_runs += 1
                } else {
                    self.floor_runs = 0
                }
                self.l = nl;
                if self.floor_runs >= 5 {
                    self.floor_runs = 0;
                    self.next_min = s.now
                }
            }
            self.next = s.now + 0.1;
        }
        self.hist.push(s.hold);
        if self.probing && self.hist.len() >= 50 {
            self.minrtt = self.median();
            self.l = self.def;
            self.probing = false;
            self.next_min = s.now + 60.0 * (1.0 + 0.15 * self.rng.unit());
            self.next = s.now + 0.1;
        }
    }
    fn limit(&self) -> u32 {
        self.l as u32
    }
}
struct Ewma {
    a: f64,
    warm: u32,
    cnt: u32,
    sum: f64,
    v: f64,
}
impl Ewma {
    fn new(n: f64) -> Self {
        Ewma { a: 2.0 / (n + 1.0), warm: 10, cnt: 0, sum: 0.0, v: 0.0 }
    }
    fn add(&mut self, x: f64) -> f64 {
        if self.cnt < self.warm {
            self.cnt += 1;
            self.sum += x;
            self.v = self.sum / self.cnt as f64
        } else {
            self.v += (x - self.v) * self.a
        }
        self.v
    }
}
struct Corr {
    xs: Vec<(f64, f64)>,
    i: usize,
}
impl Corr {
    fn new() -> Self {
        Corr { xs: vec![], i: 0 }
    }
    fn add(&mut self, x: f64, y: f64) -> (f64, f64) {
        if self.xs.len() < 50 {
            self.xs.push((x, y))
        } else {
            self.xs[self.i] = (x, y);
            self.i = (self.i + 1) % 50
        }
        let n = self.xs.len() as f64;
        if n < 10.0 {
            return (0.0, 0.0);
        }
        let (mx, my) = (self.xs.iter().map(|p| p.0).sum::<f64>() / n, self.xs.iter().map(|p| p.1).sum::<f64>() / n);
        let (vx, vy) = (
            self.xs.iter().map(|p| (p.0 - mx) * (p.0 - mx)).sum::<f64>() / n,
            self.xs.iter().map(|p| (p.1 - my) * (p.1 - my)).sum::<f64>() / n,
        );
        let (cx, cy) = (vx.sqrt() / mx, vy.sqrt() / my);
        if cx < 0.01 || cy < 0.01 {
            return (0.0, cy);
        }
        let c = self.xs.iter().map(|p| (p.0 - mx) * (p.1 - my)).sum::<f64>() / n;
        (c / (vx.sqrt() * vy.sqrt()), cy)
    }
}
/// failsafe-go's adaptive limiter, defaults.
pub struct FailsafeGo {
    l: f64,
    win: Vec<f64>,
    maxin: u32,
    min: f64,
    next: f64,
    med: Vec<f64>,
    mi: usize,
    recent: Ewma,
    base: Ewma,
    tc: Corr,
    rc: Corr,
}
impl FailsafeGo {
    pub fn new(l0: u32) -> Self {
        FailsafeGo {
            l: l0 as f64,
            win: vec![],
            maxin: 0,
            min: f64::MAX,
            next: 0.0,
            med: vec![],
            mi: 0,
            recent: Ewma::new(5.0),
            base: Ewma::new(10.0),
            tc: Corr::new(),
            rc: Corr::new(),
        }
    }
}
impl Controller for FailsafeGo {
    fn sample(&mut self, s: &Sample) {
        if s.outcome == Outcome::Ignore {
            return;
        }
        if s.outcome == Outcome::Success {
            self.win.push(s.hold);
            self.maxin = self.maxin.max(s.in_flight);
            self.min = self.min.min(s.hold)
        }
        if s.now > self.next && self.win.len() >= 50 {
            let k = ((self.win.len() as f64) * 0.9) as usize;
            let k = k.min(self.win.len() - 1);
            let q = *self.win.select_nth_unstable_by(k, |a, b| a.total_cmp(b)).1;
            let f = if self.med.len() < 5 {
                self.med.push(q);
                if self.med.len() < 5 {
                    q
                } else {
                    let mut v = self.med.clone();
                    v.sort_by(f64::total_cmp);
                    v[2]
                }
            } else {
                self.med[self.mi] = q;
                self.mi = (self.mi + 1) % 5;
                let mut v = self.med.clone();
                v.sort_by(f64::total_cmp);
                v[2]
            };
            let r = self.recent.add(f);
            let b = self.base.add(r);
            let n = self.maxin as f64;
            let queue = (self.l * (1.0 - b / r)).ceil();
            let (tc, tcv) = self.tc.add(n, n / r);
            let (rc, _) = self.rc.add(n, r);
            let full = s.in_flight_end as f64 >= self.l.floor();
            let g = lg(self.l);
            let mut nl = if queue > 6.0 * g {
                self.l - g
            } else if full && (tc < 0.0 || tc < 0.3 && rc > 0.5 || tcv < 0.2 && rc > 0.5) {
                self.l - g
            } else if queue < 3.0 * g {
                self.l + g
            } else {
                self.l
            };
            if nl > n * 5.0 {
                nl = self.l - g
            }
            self.l = nl.clamp(1.0, MAX);
            self.next = s.now + (self.min * 2.0).max(1.0).min(30.0);
            self.win.clear();
            self.maxin = 0;
            self.min = f64::MAX;
        }
    }
    fn limit(&self) -> u32 {
        self.l as u32
    }
}
/// Vector's ARC, from memory of its controller: once an RTT; mean against an EWMA and 2.5
/// deviations; x.9, +1.
pub struct Arc {
    l: f64,
    past: f64,
    var: f64,
    sum: f64,
    n: u32,
    reached: bool,
    back: bool,
    next: f64,
}
impl Arc {
    pub fn new(l0: u32) -> Self {
        Arc { l: l0 as f64, past: 0.0, var: 0.0, sum: 0.0, n: 0, reached: false, back: false, next: 0.0 }
    }
}
impl Controller for Arc {
    fn sample(&mut self, s: &Sample) {
        match s.outcome {
            Outcome::Ignore => return,
            Outcome::Overload => self.back = true,
            Outcome::Success => {
                self.sum += s.hold;
                self.n += 1
            }
        }
        if s.in_flight as f64 >= self.l.floor() {
            self.reached = true
        }
        if s.now < self.next {
            return;
        }
        let cur = (self.n > 0).then(|| self.sum / self.n as f64);
        if self.past > 0.0 {
            let th = 2.5 * self.var.sqrt();
            if self.reached && !self.back && cur.is_some_and(|c| c <= self.past) {
                self.l += 1.0
            } else if self.back || cur.unwrap_or(0.0) >= self.past + th.max(1e-9) {
                self.l = (self.l * 0.9).floor().max(1.0)
            }
        }
        if let Some(c) = cur {
            if self.past == 0.0 {
                self.past = c
            } else {
                let d = c - self.past;
                let a = 0.4;
                self.past += a * d;
                self.var = (1.0 - a) * (self.var + a * d * d)
            }
        }
        self.l = self.l.min(MAX);
        self.next = s.now + cur.unwrap_or(self.past);
        self.sum = 0.0;
        self.n = 0;
        self.reached = false;
        self.back = false;
    }
    fn limit(&self) -> u32 {
        self.l as u32
    }
}
