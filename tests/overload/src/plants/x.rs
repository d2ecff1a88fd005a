//! Plants after situations of production, written without tuning a rule.

use super::every;
use crate::backend::{Backend, Kind, Phase};
use crate::plant::Plant;
use crate::random::Distribution::{Exponential, LogNormal};
use crate::random::Random;

/// Holds rise gently with the calls in flight, and steeply from 70 on: memory runs short.
const MEMORY: Kind = Kind::Curve(&[(10.0, 0.03), (70.0, 0.045), (90.0, 0.4), (400.0, 1.5)]);

pub(super) fn plants() -> Vec<Plant> {
    calls().into_iter().chain(capacities()).chain(loads()).collect()
}

fn workers(servers: f64, service: f64) -> Backend {
    Backend::new(Kind::Workers, servers, service, Exponential)
}

/// Plants with a kind of calls that the others have not.
fn calls() -> [Plant; 4] {
    let pool = Kind::Pool { contention: 0.02, crosstalk: 0.0012 };
    let bucket = Kind::Metered { rate: 6.0, burst: 12.0, penalty: 0.25 };
    [
        // A pooler with more connections than the database has use for.
        Plant::new("X1 database behind a pooler, x1.4", Backend::new(pool, 80.0, 0.012, LogNormal(0.9)))
            .load(1350.0)
            .deadline(0.3, 0.075),
        // A language model: seconds a call, and a quota in calls a second, not in calls in flight.
        // A refused call counts against the quota, too.
        Plant::new("X2 language model with a quota", Backend::new(bucket, 1.0, 4.0, LogNormal(0.45)))
            .load(10.0)
            .deadline(20.0, 5.0)
            .room(32)
            .measured(120.0, 900.0),
        // Calls of one millisecond, as of a cache, on more workers than the limit may be.
        Plant::new("X3 calls of 1 ms, 500 workers", workers(500.0, 0.001))
            .load(170_000.0)
            .deadline(0.02, 0.005)
            .room(256)
            .measured(1.0, 5.0),
        // Retries of impatient clients, at a backend that slows down by the universal law.
        Plant::new(
            "X4 clients that retry, falling",
            Backend::new(Kind::Scaling { contention: 0.03, crosstalk: 0.0008 }, 1.0, 0.04, Exponential),
        )
        .load(330.0)
        .deadline(0.6, 0.15)
        .timeout(0.6)
        .retries(2),
    ]
}

/// Plants whose capacity changes.
fn capacities() -> [Plant; 5] {
    // It rises from 12 to 36 workers, half a minute after the load does, and goes after it.
    let scaled = [(0.0, 12.0), (70.0, 18.0), (80.0, 26.0), (90.0, 36.0), (190.0, 24.0), (200.0, 12.0)];
    let warming = (0_u32..).zip([4.0, 3.0, 2.4, 2.0, 1.7, 1.5, 1.35, 1.2, 1.1, 1.0]);
    // One backend of two dies: its calls are lost for 8 s, until the balancer leaves it out.
    let dies =
        [Phase::new(0.0, 40.0), Phase::new(50.0, 20.0).lost(0.5), Phase::new(58.0, 20.0), Phase::new(110.0, 40.0)];
    let leak = (0..28).map(|step| Phase::new(f64::from(5 * step), f64::from(44 - step)));
    let leak = leak.chain([Phase::new(140.0, 44.0)]);
    [
        Plant::new(
            "X5 workers follow the load by 30 s",
            workers(12.0, 0.08).phases(scaled.map(|(from, servers)| Phase::new(from, servers))),
        )
        .loads([(0.0, 110.0), (40.0, 400.0), (150.0, 110.0)])
        .deadline(0.6, 0.15)
        .measured(20.0, 220.0),
        Plant::new(
            "X6 cache that warms up",
            Backend::new(Kind::Sharing, 16.0, 0.02, Exponential)
                .phases(warming.map(|(step, work)| Phase::new(12.0 * f64::from(step), 16.0).work(work))),
        )
        .load(760.0)
        .deadline(0.4, 0.1)
        .measured(0.0, 130.0),
        Plant::new("X7 noisy neighbour", Backend::new(Kind::Workers, 28.0, 0.06, LogNormal(0.5)).phases(neighbour()))
            .load(430.0)
            .deadline(0.5, 0.125)
            .measured(20.0, 180.0),
        Plant::new("X8 one backend of two dies", Backend::new(Kind::Workers, 40.0, 0.05, LogNormal(0.4)).phases(dies))
            .load(620.0)
            .deadline(0.4, 0.1)
            .timeout(1.0)
            .measured(20.0, 140.0),
        Plant::new("X9 slow leak, then a restart", workers(44.0, 0.05).phases(leak))
            .load(700.0)
            .deadline(0.4, 0.1)
            .measured(10.0, 170.0),
    ]
}

/// Plants whose load or whose work varies.
fn loads() -> [Plant; 3] {
    // A day in 240 s, with its peak beyond the cliff, and a job of 5 s each 20 s.
    let day = (0..48).map(|step| {
        let time = 5.0 * f64::from(step);
        let job = if step % 4 == 3 { 1.6 } else { 1.0 };
        (time, job * 1150.0 * (1.0 - 0.6 * libm::cos(time * std::f64::consts::TAU / 240.0)))
    });
    let jobs = (0..7).flat_map(|job| {
        let time = 20.0 * f64::from(job);
        [(time, 150.0), (time + 14.0, 900.0), (time + 17.0, 150.0)]
    });
    [
        Plant::new("X10 a day and jobs before a cliff", Backend::new(MEMORY, 1.0, 1.0, LogNormal(0.35)))
            .loads(day)
            .deadline(0.25, 0.06)
            .measured(20.0, 240.0),
        Plant::new("X11 batch jobs, holds walk", walking(22.0, 0.045))
            .loads(jobs)
            .batch(4)
            .deadline(0.9, 0.22)
            .room(96)
            .measured(20.0, 140.0),
        Plant::new(
            "X12 collector pauses, falling x1.4",
            Backend::new(Kind::Scaling { contention: 0.04, crosstalk: 0.0005 }, 1.0, 0.03, LogNormal(0.7))
                .phases(collector()),
        )
        .load(520.0)
        .deadline(1.0, 0.25)
        .room(128),
    ]
}

/// Full and half speed, for random times of 8 s on average each.
fn neighbour() -> Vec<Phase> {
    let mut random = Random::new(9_001);
    let mut time = 0.0;
    let speeds = [1.0, 0.5].into_iter().cycle();
    let phases = speeds.map(|speed| {
        let from = time;
        time += 2.0 + 6.0 * random.exponential();
        Phase::new(from, 28.0).speed(speed)
    });
    phases.take_while(|phase| phase.from < 180.0).collect()
}

/// The work walks at random each second, between half and twice of it.
fn walking(servers: f64, service: f64) -> Backend {
    let mut random = Random::new(9_002);
    let mut walk: f64 = 0.0;
    let phases = [0.0].into_iter().chain(every(1.0, 139)).map(|from| {
        walk = (0.96 * walk + 0.12 * random.normal()).clamp(-0.69, 0.69);
        Phase::new(from, servers).work(libm::exp(walk))
    });
    let phases: Vec<_> = phases.collect();
    Backend::new(Kind::Workers, servers, service, LogNormal(0.5)).phases(phases)
}

/// A pause of 60 ms every 2 s on average, and one of 700 ms every 25 s.
fn collector() -> Vec<Phase> {
    let mut random = Random::new(9_003);
    let mut phases = vec![Phase::new(0.0, 1.0)];
    let (mut time, mut full) = (0.0, 25.0);
    while time < 118.0 {
        time += 0.3 + 1.7 * random.exponential();
        let pause = if time >= full { 0.7 } else { 0.03 + 0.03 * random.exponential() };
        full += if time >= full { 25.0 } else { 0.0 };
        phases.push(Phase::new(time, 1.0).speed(0.0));
        time += pause;
        phases.push(Phase::new(time, 1.0));
    }
    phases
}
