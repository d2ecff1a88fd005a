//! The third plants that the rules had not met.

use super::every;
use crate::backend::{Backend, Kind, Phase};
use crate::plant::Plant;
use crate::random::Distribution::{Exponential, LogNormal};

const SOFT: Kind = Kind::Curve(&[(1.0, 0.02), (50.0, 0.03), (150.0, 0.15), (400.0, 1.0)]);

pub(super) fn plants() -> Vec<Plant> {
    let workers = |servers, service| Backend::new(Kind::Workers, servers, service, Exponential);
    vec![
        Plant::new("W1 sharing 48, load .5-2-.5", Backend::new(Kind::Sharing, 48.0, 0.02, Exponential))
            .loads([(0.0, 1200.0), (40.0, 4800.0), (80.0, 1200.0)])
            .deadline(0.2, 0.05),
        Plant::new(
            "W2 64-20-64, batches of 5",
            Backend::new(Kind::Workers, 64.0, 0.025, LogNormal(0.6)).phases([
                Phase::new(0.0, 64.0),
                Phase::new(50.0, 20.0),
                Phase::new(90.0, 64.0),
            ]),
        )
        .load(3072.0)
        .batch(5)
        .deadline(0.25, 0.06)
        .measured(20.0, 130.0)
        .change(50.0),
        Plant::new(
            "W3 falling, pauses, x2.5",
            Backend::new(Kind::Scaling { contention: 0.05, crosstalk: 0.001 }, 1.0, 0.04, Exponential)
                .pauses(every(10.0, 11), 0.3),
        )
        .load(560.0)
        .deadline(0.8, 0.2),
        Plant::new(
            "W4 429 at 50, then 30",
            Backend::new(Kind::Capped { drops: false }, 50.0, 0.04, LogNormal(0.3))
                .phases([Phase::new(0.0, 50.0), Phase::new(60.0, 30.0)]),
        )
        .load(1500.0)
        .deadline(0.3, 0.075),
        Plant::new("W5 calls of 300 ms, 10 x1.4", workers(10.0, 0.3))
            .load(46.0)
            .deadline(1.5, 0.4)
            .measured(40.0, 240.0),
        Plant::new("W6 soft curve, x1.5", Backend::new(SOFT, 1.0, 1.0, LogNormal(0.4)))
            .load(2500.0)
            .deadline(0.25, 0.06),
        Plant::new("W7 drops at 40", Backend::new(Kind::Capped { drops: true }, 40.0, 0.05, LogNormal(0.5)))
            .timeout(0.5)
            .load(1600.0)
            .deadline(0.4, 0.1),
        Plant::new("W8 3 % take 30x, unlabelled", workers(40.0, 0.008))
            .load(4000.0)
            .mix([(0.0, 0.03)], 30.0)
            .deadline(0.8, 0.2),
    ]
}
