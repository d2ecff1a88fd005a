//! The simulation beside a naive bulkhead of a few lines, which knows nothing of the gate: each
//! call of random scripts, with ties everywhere, ends in the same way at the same instant.
//!
//! With `BULKLINK_DEPTH` of four or more, there are ten times as many scripts.

use std::env;
use std::time::Duration;

use bulklink_core::{Instant, Limits, Reason};
use bulklink_plan::{Arrivals, Distribution, Load, ScriptedCall, Sim};
use fastrand::Rng;

const CALLS: usize = 500;

/// How a call ended, and when.
type End = (Result<(), Reason>, Instant);

/// The contract's words as lists.
struct Naive<'a> {
    script: &'a [ScriptedCall],
    limits: Limits,
    /// The end of each call that runs, in the order in which they began.
    running: Vec<(usize, Instant)>,
    /// The end of each wait, in the order of arrival.
    line: Vec<(usize, Instant)>,
    ends: Vec<Option<End>>,
}

impl Naive<'_> {
    fn run(mut self) -> Vec<Option<End>> {
        let mut next = 0;
        loop {
            let end = self.running.iter().map(|run| run.1).min();
            let due = self.line.iter().map(|wait| wait.1).min();
            let arrival = self.script.get(next).map(|call| call.at);
            let Some(now) = [end, due, arrival].into_iter().flatten().min() else { return self.ends };
            if due == Some(now) {
                self.expire(now);
            } else if end == Some(now) {
                let ended = self.running.iter().position(|run| run.1 == now).unwrap();
                self.running.remove(ended);
            } else {
                self.arrive(next, now);
                next += 1;
            }
            self.admit(now);
        }
    }

    fn expire(&mut self, now: Instant) {
        for &(call, _) in self.line.iter().filter(|wait| wait.1 == now) {
            self.ends[call] = Some((Err(Reason::Expired), now));
        }
        self.line.retain(|wait| wait.1 > now);
    }

    fn arrive(&mut self, call: usize, now: Instant) {
        let own = self.script[call].within.unwrap_or(Duration::MAX);
        let limit = self.limits.wait_limit.unwrap_or(Duration::MAX).min(own);
        if self.line.is_empty() && self.fits(call) {
            self.begin(call, now);
        } else if own.is_zero() {
            self.ends[call] = Some((Err(Reason::Expired), now));
        } else if self.line.len() >= self.limits.waiting_room {
            self.ends[call] = Some((Err(Reason::Saturated), now));
        } else {
            self.line.push((call, now + limit));
        }
    }

    /// The first of the line begins as long as it fits, and none before it.
    fn admit(&mut self, now: Instant) {
        while let Some(&(call, _)) = self.line.first().filter(|(call, _)| self.fits(*call)) {
            self.line.remove(0);
            self.begin(call, now);
        }
    }

    fn begin(&mut self, call: usize, now: Instant) {
        self.ends[call] = Some((Ok(()), now));
        self.running.push((call, now + self.script[call].hold));
    }

    fn fits(&self, call: usize) -> bool {
        let in_use: usize = self.running.iter().map(|run| self.script[run.0].cost).sum();
        in_use + self.script[call].cost <= self.limits.capacity
    }
}

fn limits(random: &mut Rng) -> Limits {
    let limit = random.bool().then(|| Duration::from_nanos(random.u64(1..12)));
    Limits::new(random.usize(1..8)).with_waiting_room(random.usize(0..6)).with_wait_limit(limit)
}

fn script(random: &mut Rng, capacity: usize) -> Vec<ScriptedCall> {
    let mut now = 0;
    let mut call = || {
        now += random.u64(0..4);
        ScriptedCall {
            at: Instant::from_nanos(now),
            hold: Duration::from_nanos(random.u64(0..10)),
            cost: if random.u8(0..3) == 0 { random.usize(1..=capacity) } else { 1 },
            within: (random.u8(0..3) == 0).then(|| Duration::from_nanos(random.u64(0..9))),
        }
    };
    (0..CALLS).map(|_| call()).collect()
}

fn simulated(script: &[ScriptedCall], limits: Limits) -> Vec<Option<End>> {
    let load = Load::new(Arrivals::Script(script.into()), Distribution::constant(Duration::ZERO));
    let mut sim = Sim::new(limits, load, 0).unwrap();
    let mut ends = vec![None; script.len()];
    sim.run(u64::MAX, |decision| {
        let end = &mut ends[usize::try_from(decision.call).unwrap()];
        assert_eq!(end.replace((decision.admitted, decision.at)), None, "decided twice");
    });
    ends
}

#[test]
fn each_call_ends_as_a_naive_bulkhead_has_it() {
    let depth = env::var("BULKLINK_DEPTH").ok().and_then(|depth| depth.parse::<u32>().ok());
    let scripts = if depth.is_some_and(|depth| depth >= 4) { 20_000_u32 } else { 2_000 };
    let mut seen = [0_u32; 3];
    for seed in 0..scripts {
        let mut random = Rng::with_seed(seed.into());
        let limits = limits(&mut random);
        let script = script(&mut random, limits.capacity);
        let naive = Naive { script: &script, limits, running: vec![], line: vec![], ends: vec![None; CALLS] };
        let ends = naive.run();
        for (call, (naive, simulated)) in ends.iter().zip(simulated(&script, limits)).enumerate() {
            assert_eq!(simulated, *naive, "call {call} of script {seed}: {:?}, {limits:?}", script[call]);
        }
        for (end, _) in ends.into_iter().flatten() {
            seen[end.map_or_else(|reason| 1 + usize::from(reason == Reason::Expired), |()| 0)] += 1;
        }
    }
    println!("{scripts} scripts: {} admitted, {} saturated, {} expired", seen[0], seen[1], seen[2]);
    assert!(seen.iter().all(|number| *number > scripts * 20), "{seen:?}");
}
