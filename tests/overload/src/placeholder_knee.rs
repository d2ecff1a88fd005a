//! A placeholder: the rule of the prototype for `Knee`, until that of `bulklink_core::limit`
//! replaces it.

#![allow(
    dead_code,
    clippy::all,
    clippy::pedantic,
    missing_docs,
    missing_debug_implementations,
    reason = "a placeholder"
)]

use crate::peers::{Controller, Outcome, Sample};

const CLASSES: usize = 1;

#[derive(Clone, Copy, Debug)]
pub struct Par {
    pub min: f64,
    pub max: f64,
    /// the slope d ln(useful work) / d ln(slots) below which another slot is not worth its latency
    pub star: f64,
    /// the limit is moved up and down by this share, to see
    pub dither: f64,
    pub forget: f64,
    pub local: f64,
    pub eta: f64,
    /// variance of the true slope around what the baseline says
    pub tau2: f64,
    /// samples in a window, at least
    pub n: u32,
    pub repair: f64,
    pub lag: f64,
    pub penalty: f64,
    pub creep: f64,
    // ablations
    pub use_slope: bool,
    pub use_base: bool,
    pub use_ramp: bool,
    pub use_class: bool,
    pub use_stall: bool,
    pub by_hold: bool,
    pub use_cap: bool,
    pub use_pay: bool,
    pub use_drain: bool,
}
impl Default for Par {
    fn default() -> Self {
        Par {
            min: 1.0,
            max: 400.0,
            star: 0.18,
            dither: 0.12,
            forget: 0.95,
            local: 1.0,
            eta: 0.2,
            tau2: 0.04,
            n: 50,
            repair: 0.25,
            lag: 1.0,
            penalty: 0.1,
            creep: 0.0005,
            use_slope: true,
            use_base: true,
            use_ramp: true,
            use_class: false,
            use_stall: true,
            by_hold: false,
            use_cap: true,
            use_pay: true,
            use_drain: false,
        }
    }
}

fn p_use(p: &Par) -> bool {
    p.use_cap
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Mode {
    Ramp,
    Track,
}

#[derive(Clone, Copy, Default)]
struct Window {
    from: f64,
    all: u32,
    unit: f64,
    hold: f64,
    waste: f64,
    infl: f64,
    over: u32,
    pressed: u32,
    maxin: u32,
    class: [(f64, u32); CLASSES],
}

#[derive(Clone, Copy, Default)]
struct Slope {
    w: f64,
    mx: f64,
    my: f64,
    sxx: f64,
    sxy: f64,
    lx: f64,
}

pub struct Knee {
    p: Par,
    limit: f64,
    cur: u32,
    mode: Mode,
    base: [f64; CLASSES],
    warm: [u8; CLASSES],
    scale: f64,
    win: Window,
    slope: Slope,
    mean: f64,
    m1: f64,
    m2: f64,
    gap: f64,
    last: f64,
    void_before: f64,
    noise: f64,
    odd: f64,
    px: f64,
    py: f64,
    ph: f64,
    k: u32,
    streak: i32,
    /// where it got worse, how fast that is forgotten, and where a fall began
    cap: f64,
    hits: u32,
    ax: f64,
    ay: f64,
    ys: f64,
    xs: f64,
    pub stalls: u32,
    pub windows: u32,
    pub changes: u32,
    pub falls: u32,
    pub s: f64,
    pub infl: f64,
}
impl Knee {
    pub fn new(l0: u32, p: Par) -> Self {
        Knee {
            p,
            limit: l0 as f64,
            cur: l0,
            mode: if p.use_ramp { Mode::Ramp } else { Mode::Track },
            base: [0.0; CLASSES],
            warm: [0; CLASSES],
            scale: 1.0,
            win: Window::default(),
            slope: Slope::default(),
            mean: 0.0,
            m1: 0.0,
            m2: 0.0,
            gap: 0.0,
            last: 0.0,
            void_before: -1.0,
            noise: 0.02,
            odd: 0.0,
            px: f64::NAN,
            py: 0.0,
            ph: 0.0,
            k: 0,
            streak: 0,
            cap: f64::MAX,
            hits: 0,
            ax: f64::NAN,
            ay: 0.0,
            ys: f64::NAN,
            xs: f64::NAN,
            stalls: 0,
            windows: 0,
            changes: 0,
            falls: 0,
            s: f64::NAN,
            infl: 1.0,
        }
    }
    /// how long a step of the limit takes to show: a hold, or most of what a slot, looked at, is
    /// seen held for
    fn lag(&self) -> f64 {
        self.mean.max(self.p.lag * self.m2 / self.m1.max(1e-12))
    }
    fn open(&mut self, from: f64) {
        self.win = Window { from, ..Window::default() }
    }
    fn settle(&mut self, now: f64) {
        let l = self.lag();
        self.open(now + l)
    }
    fn learn(&mut self, x: f64, y: f64) {
        let s = &mut self.slope;
        if s.w == 0.0 {
            *s = Slope { w: 1.0, mx: x, my: y, lx: x, ..Slope::default() };
            return;
        }
        let f = self.p.forget * libm::exp(-self.p.local * (x - s.lx).abs());
        s.lx += 0.5 * (x - s.lx);
        s.w *= f;
        s.sxx *= f;
        s.sxy *= f;
        let w1 = s.w + 1.0;
        let (dx, dy) = (x - s.mx, y - s.my);
        s.mx += dx / w1;
        s.my += dy / w1;
        s.sxx += dx * dx * s.w / w1;
        s.sxy += dx * dy * s.w / w1;
        s.w = w1;
    }
    /// the slope that an inflation of holds suggests, before anything was tried
    fn prior(&self, i: f64) -> f64 {
        if !self.p.use_base {
            return 0.3;
        }
        let star = self.p.star;
        if i <= 1.05 {
            1.0
        } else if i <= 1.25 {
            1.0 - (i - 1.05) / 0.2 * (1.0 - star)
        } else {
            (star * (1.0 - (i - 1.25) / 0.35)).max(0.0)
        }
    }
    fn next(&mut self, now: f64) {
        let was = self.cur;
        self.k = self.k.wrapping_add(1);
        if p_use(&self.p) && self.cap < f64::MAX {
            self.limit = self.limit.min((0.95 * self.cap / (1.0 + self.p.dither)).max(self.p.min));
            self.hits += 1;
            self.cap *= 1.0 + self.p.creep * self.hits as f64
        }
        let l = self.limit;
        self.cur = if !self.p.use_slope {
            l
        } else {
            let a = (l * self.p.dither).max(0.75);
            if self.k.count_ones() & 1 == 0 { l + a } else { l - a }
        }
        .round()
        .clamp(self.p.min, self.p.max) as u32;
        if was == self.cur { self.open(now) } else { self.settle(now) }
    }
    fn close(&mut self, now: f64) {
        self.windows += 1;
        let (p, w) = (self.p, self.win);
        let nbar = (w.infl / w.all.max(1) as f64).max(1.0);
        let told = w.over >= 2 && w.over * 50 >= w.all;
        let pressed = w.pressed * 2 >= w.all;
        if told && !pressed {
            self.limit = self.limit.min(nbar * 1.05).max(p.min);
            self.mode = Mode::Track
        }
        // useful work a second, in calls that would run if each took what it takes alone; a failure
        // for overload undoes some
        let done = (w.unit - p.penalty * w.waste).max(w.unit * 0.1).max(1e-9);
        let y = if p.by_hold {
            libm::log(w.hold / w.unit.max(1e-9))
        } else {
            libm::log(nbar * (now - w.from).max(1e-9) / done)
        };
        if !pressed && !told {
            // nobody waited or was turned away: nothing to learn of the limit, but maybe what a
            // call takes alone
            if (w.maxin as f64) < 0.5 * self.limit {
                for c in 0..CLASSES {
                    if w.class[c].1 >= 5 {
                        let r = w.class[c].0 / w.class[c].1 as f64 / self.scale / self.base[c];
                        self.base[c] *= r.clamp(0.8, 1.03);
                    }
                }
            }
            self.streak = 0;
            self.cur = self.limit.round().max(1.0) as u32;
            self.open(now);
            return;
        }
        let x = libm::log(nbar);
        if self.mode == Mode::Ramp {
            // filled only in part so far: wait for the rest, a few windows long
            if nbar < 0.7 * self.limit && self.k < 4 {
                self.k += 1;
                self.settle(now);
                return;
            }
            self.k = 0;
            let h = libm::log(w.hold / w.all.max(1) as f64);
            let helped = self.px.is_nan()
                || x - self.px > 0.1
                    && 1.0 - (y - self.py) / (x - self.px) > 0.5
                    && 1.0 - (h - self.ph) / (x - self.px) > 0.4;
            self.ph = h;
            self.learn(x, y);
            if helped && self.limit < p.max {
                self.px = x;
                self.py = y;
                self.limit = (self.limit * 2.0).min(p.max);
            } else {
                let useful = nbar / (libm::exp(y) / self.scale);
                let lo = if self.px.is_nan() { p.min } else { libm::exp(self.px).min(self.limit) };
                self.limit = (useful * 1.15).clamp(lo, self.limit);
                self.mode = Mode::Track;
            }
            self.cur = self.limit.round().max(1.0) as u32;
            self.settle(now);
            return;
        }
        // has the world changed?
        let s = self.slope;
        if s.w >= 3.0 {
            let b = if s.sxx > 1e-6 { (s.sxy / (s.sxx + self.noise / p.tau2)).clamp(-0.5, 2.0) } else { 0.0 };
            let e = y - (s.my + b * (x - s.mx));
            let big = e.abs() > (3.5 * self.noise.sqrt()).max(0.25);
            if big && e > 0.0 && x > s.mx + 0.02 && self.odd <= 0.0 && p.use_cap {
                // higher and worse: that is the slope, and a place to remember
                self.cap = nbar;
                self.hits = 0;
                self.odd = e;
            } else if big && (x - s.mx).abs() < 0.5 {
                if self.odd * e > 0.0 {
                    self.slope = Slope::default();
                    self.streak = 0;
                    self.odd = 0.0;
                    self.changes += 1;
                    self.cap = f64::MAX;
                    self.hits = 0;
                    self.ax = f64::NAN;
                    self.ys = f64::NAN;
                    self.xs = f64::NAN
                } else {
                    self.odd = e;
                    self.next(now);
                    return;
                } // one is no evidence
            } else {
                self.odd = 0.0;
                self.noise = (self.noise + 0.05 * ((e * e).min(0.25) - self.noise)).max(0.0005)
            }
        }
        self.learn(x, y);
        let s = self.slope;
        let kappa = self.noise / p.tau2;
        let b = if s.sxx > 1e-6 { (s.sxy / (s.sxx + 0.1 * kappa)).clamp(-0.5, 3.0) } else { 0.0 };
        let infl = libm::exp(s.my + b * (libm::log(self.limit) - s.mx).clamp(-0.3, 0.3)) / self.scale;
        let s0 = self.prior(infl);
        let raw = if s.sxx > 1e-6 { (1.0 - s.sxy / s.sxx).clamp(-2.0, 1.5) } else { s0 };
        let trust = if p.use_slope { s.sxx / (s.sxx + kappa) } else { 0.0 };
        let slope = (trust * raw + (1.0 - trust) * s0).clamp(-1.0, 1.2);
        self.s = slope;
        self.infl = infl;
        // the baseline answers to the evidence, faster downward
        let d = raw.clamp(0.0, 1.0) - s0;
        self.scale *= libm::exp(p.repair * trust * if d < 0.0 { 2.0 * d } else { d });
        let g = slope - p.star;
        let dir = if g > 0.0 { 1 } else { -1 };
        self.ys = if self.ys.is_nan() { y } else { 0.5 * (self.ys + y) };
        self.xs = if self.xs.is_nan() { x } else { 0.5 * (self.xs + x) };
        if dir > 0 || self.ax.is_nan() || self.ys > self.ay {
            self.ax = self.xs;
            self.ay = self.ys
        }
        if p.use_pay && self.ax - self.xs > 0.6 {
            let paid = (self.ay - self.ys) / (self.ax - self.xs);
            if paid < 0.35 {
                // fewer slots, and calls are no faster: it is not the slots. What they take is what
                // they take alone
                self.scale = libm::exp(self.ys) / 1.05;
                self.limit = libm::exp(self.ax).min(p.max);
                self.slope = Slope::default();
                self.streak = 0;
                self.ax = f64::NAN;
                self.ys = f64::NAN;
                self.xs = f64::NAN;
                self.cap = f64::MAX;
                self.hits = 0;
                self.falls += 1;
                self.next(now);
                return;
            }
            self.ax = self.xs;
            self.ay = self.ys;
        }
        self.streak = if self.streak.signum() == dir { self.streak + dir } else { dir };
        let boost = if g.abs() > 0.2 {
            1.0 + (self.streak.unsigned_abs().saturating_sub(2) as f64 * 0.35).min(2.0)
        } else {
            1.0
        };
        let mut step = p.eta * g * boost;
        if g < 0.0 && infl > 1.5 {
            step = step.min(-0.5 * libm::log(infl / 1.3))
        }
        let old = self.limit;
        self.limit = (self.limit * libm::exp(step.clamp(-0.5, 0.5))).clamp(p.min, p.max);
        if self.limit > old {
            self.limit = self.limit.min((nbar * 2.0).max(old))
        }
        self.next(now);
    }
}
impl Controller for Knee {
    fn sample(&mut self, s: &Sample) {
        if s.outcome == Outcome::Ignore {
            return;
        }
        let c = 0;
        // a stall: nothing ended for long, while much ran
        let gap = s.now - self.last;
        if self.p.use_stall && self.gap > 0.0 && gap > 3.0 * self.mean && gap > 30.0 * self.gap && s.hold > gap * 0.9 {
            self.stalls += 1;
            self.void_before = s.now;
            self.open(s.now)
        } else if self.last > 0.0 {
            self.gap += 0.05 * (gap - self.gap)
        }
        self.last = s.now;
        if s.now - s.hold < self.void_before {
            return;
        } // began before the end of the stall
        let a = if self.m1 == 0.0 { 1.0 } else { 0.02 };
        self.m1 += a * (s.hold - self.m1);
        self.m2 += a * (s.hold * s.hold - self.m2);
        if s.outcome == Outcome::Success {
            self.mean += (s.hold - self.mean) * if self.mean == 0.0 { 1.0 } else { 0.05 };
            if self.warm[c] < 60 {
                self.warm[c] += 1;
                self.base[c] += (s.hold / self.scale - self.base[c]) / self.warm[c] as f64
            }
        }
        if s.now < self.win.from {
            return;
        }
        // still more in flight than the limit: what it does cannot be seen yet
        if self.p.use_drain && s.in_flight_end as f64 > 1.05 * self.cur as f64 + 1.0 {
            self.open(s.now);
            return;
        }
        let w = &mut self.win;
        w.all += 1;
        w.infl += s.in_flight_end as f64;
        w.maxin = w.maxin.max(s.in_flight).max(s.in_flight_end);
        if s.pressed || s.waiting > 0 || s.in_flight >= self.cur {
            w.pressed += 1
        }
        if s.outcome == Outcome::Overload {
            w.over += 1;
            w.waste += self.base[c];
            w.hold += s.hold
        } else {
            w.hold += s.hold;
            w.unit += self.base[c].max(1e-9);
            w.class[c].0 += s.hold;
            w.class[c].1 += 1
        }
        let (all, from) = (w.all, w.from);
        let n = if self.gap > 0.0 { (3.0 / self.gap).clamp(20.0, self.p.n as f64) as u32 } else { self.p.n };
        if all >= n.max((self.cur / 2).min(100)) && s.now - from >= 0.5 * self.lag() {
            self.close(s.now)
        }
    }
    fn limit(&self) -> u32 {
        self.cur
    }
}
