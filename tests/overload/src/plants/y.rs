//! More plants after situations of production, written without a look at a rule or at a run.

use super::every;
use crate::backend::{Backend, Kind, Phase};
use crate::peers::Outcome;
use crate::plant::Plant;
use crate::random::Distribution::{Exponential, LogNormal};

/// Holds rise fivefold between 30 and 45 calls in flight, for a service of size one.
const CLIFF: Kind = Kind::Curve(&[(30.0, 0.03), (45.0, 0.15), (400.0, 0.6)]);

pub(super) fn plants() -> Vec<Plant> {
    bursts().into_iter().chain(terms()).chain(capacities()).chain(sizes()).collect()
}

/// Plants whose load or whose holds are another at the start, or for a short time.
fn bursts() -> [Plant; 3] {
    let peaks = (0..12).flat_map(|peak| {
        let time = 10.0 * f64::from(peak);
        [(time, 500.0), (time + 6.0, 1500.0), (time + 8.0, 500.0)]
    });
    let cold = [0.0, 50.0].into_iter().flat_map(|start| {
        let works = [(0.0, 10.0), (5.0, 6.0), (10.0, 3.0), (16.0, 1.6), (24.0, 1.0)];
        works.map(|(from, work)| Phase::new(start + from, 48.0).work(work))
    });
    let rare = (0..6).flat_map(|burst| {
        let time = 25.0 * f64::from(burst);
        [(time, 60.0), (time + 10.0, 1500.0), (time + 16.0, 60.0)]
    });
    [
        // The proxy gives up on calls in the hidden queue and sends others; that says nothing.
        Plant {
            fails_as: Outcome::Ignore,
            ..Plant::new("Y1 bursts through a retrying proxy", Backend::new(Kind::Workers, 24.0, 0.04, Exponential))
        }
        .loads(peaks)
        .deadline(0.3, 0.075)
        .timeout(0.2)
        .retries(2),
        // A start before code is compiled and caches are filled, and a restart.
        Plant::new(
            "Y2 two cold starts, holds tenfold",
            Backend::new(Kind::Workers, 48.0, 0.025, LogNormal(0.6)).phases(cold),
        )
        .load(1500.0)
        .measured(0.0, 100.0),
        // More workers than each burst needs, and hardly a call for a long time between them.
        Plant::new("Y3 idle fleet of 300 with bursts", Backend::new(Kind::Workers, 300.0, 0.15, LogNormal(0.4)))
            .loads(rare)
            .deadline(1.0, 0.25)
            .start(2)
            .measured(0.0, 150.0),
    ]
}

/// Plants with unusual terms or work of a call.
fn terms() -> [Plant; 3] {
    let pool = Kind::Pool { contention: 0.1, crosstalk: 0.0 };
    [
        // A small database, and a first limit that was never thought about.
        Plant::new("Y4 pool of 3, x3, from 200", Backend::new(pool, 3.0, 0.02, LogNormal(0.5)))
            .load(375.0)
            .deadline(0.2, 0.05)
            .start(200)
            .measured(0.0, 100.0),
        // A sixth of the work is done after the caller has left, at any limit.
        Plant::new("Y5 tails beyond the timeout, x1.2", Backend::new(Kind::Workers, 60.0, 0.15, LogNormal(1.3)))
            .load(480.0)
            .deadline(0.6, 0.15)
            .timeout(0.6)
            .measured(20.0, 160.0),
        // Few calls, which say little, and a scheduler that sends three at once.
        Plant::new("Y6 reports of 3 s, sharing 20", Backend::new(Kind::Sharing, 20.0, 3.0, LogNormal(0.5)))
            .load(9.0)
            .batch(3)
            .deadline(12.0, 3.0)
            .room(12)
            .timeout(12.0)
            .start(60)
            .measured(40.0, 200.0),
    ]
}

/// Plants that serve less for a time, or under more load.
fn capacities() -> [Plant; 3] {
    let servers = 40.0;
    let dim = [(0.0, 1.0), (60.0, 0.25), (80.0, 1.0)].map(|(from, speed)| Phase::new(from, servers).speed(speed));
    let rise = (0..34).map(|step| (5.0 * f64::from(step), 400.0 + 400.0 * f64::from(step) / 33.0));
    // Ten instances of nine workers restart in turn: a tenth of the calls is lost for 1 s, and the
    // instance is away for 4 s more and then cold for 3 s.
    let restarts = (0..10).flat_map(|instance| {
        let time = 40.0 + 8.0 * f64::from(instance);
        let away = Phase::new(time, 81.0);
        [away.lost(0.1), Phase { from: time + 1.0, ..away }, Phase::new(time + 5.0, 90.0).work(1.1)]
    });
    let rolling = [Phase::new(0.0, 90.0)].into_iter().chain(restarts).chain([Phase::new(120.0, 90.0)]);
    [
        // All is four times as slow, and callers try again, until it is as before.
        Plant::new(
            "Y7 brown-out for 20 s, retries",
            Backend::new(Kind::Sharing, servers, 0.03, Exponential).phases(dim),
        )
        .load(1150.0)
        .deadline(0.4, 0.1)
        .timeout(0.4)
        .retries(1)
        .measured(20.0, 140.0)
        .change(80.0),
        // From 0.7 to 1.4 of what it can serve at best, with no step to notice; then back at once.
        Plant::new(
            "Y8 load doubles through saturation",
            Backend::new(Kind::Scaling { contention: 0.01, crosstalk: 0.0003 }, 1.0, 0.04, LogNormal(0.5)),
        )
        .loads(rise.chain([(170.0, 400.0)]))
        .measured(10.0, 190.0),
        // Calls time out that no lower limit would save.
        Plant::new(
            "Y9 rolling restart, calls lost",
            Backend::new(Kind::Workers, 90.0, 0.05, LogNormal(0.5)).phases(rolling),
        )
        .load(1500.0)
        .deadline(0.4, 0.1)
        .timeout(0.4)
        .measured(20.0, 140.0),
    ]
}

/// Plants whose limit of what they bear moves.
fn sizes() -> [Plant; 3] {
    let scaled = |sizes: [(f64, f64); 3]| sizes.map(|(from, size)| Phase::new(from, size));
    let bucket = Kind::Metered { rate: 300.0, burst: 60.0, penalty: 0.2 };
    let compactions = every(2.0, 19).flat_map(|time| [Phase::new(time, 10.0).speed(0.3), Phase::new(time + 0.2, 10.0)]);
    [
        // Another tenant takes half of the quota for a while.
        Plant::new(
            "Y10 quota halves for 50 s, x1.2",
            Backend::new(bucket, 1.0, 0.1, LogNormal(0.4)).phases(scaled([(0.0, 1.0), (60.0, 0.5), (110.0, 1.0)])),
        )
        .load(360.0)
        .deadline(0.3, 0.075)
        .measured(20.0, 160.0),
        // Memory is taken away, and more is given.
        Plant::new(
            "Y11 cliff at 30, 18, then 45",
            Backend::new(CLIFF, 1.0, 1.0, LogNormal(0.3)).phases(scaled([(0.0, 1.0), (50.0, 0.6), (90.0, 1.5)])),
        )
        .load(1300.0)
        .deadline(0.3, 0.075)
        .measured(20.0, 150.0),
        // Pipelines of 30 calls, and a tenth of the time at less than a third of the speed.
        Plant::new(
            "Y12 store of 2 ms with compactions",
            Backend::new(Kind::Workers, 10.0, 0.002, Exponential)
                .phases([Phase::new(0.0, 10.0)].into_iter().chain(compactions)),
        )
        .load(6000.0)
        .batch(30)
        .deadline(0.03, 0.0075)
        .measured(4.0, 40.0),
    ]
}
