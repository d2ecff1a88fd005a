//! The second plants that the rules had not met.

use super::{day, every};
use crate::backend::{Backend, Kind, Phase};
use crate::plant::Plant;
use crate::random::Distribution::{Exponential, LogNormal};

const CLIFF: Kind = Kind::Curve(&[(25.0, 0.03), (35.0, 0.3), (400.0, 0.6)]);

pub(super) fn plants() -> Vec<Plant> {
    let workers = |servers, service| Backend::new(Kind::Workers, servers, service, Exponential);
    let sharing = |servers, service| Backend::new(Kind::Sharing, servers, service, Exponential);
    let ebb = (0..10).map(|step| Phase::new(f64::from(12 * step), f64::from(60 - 5 * step)));
    vec![
        Plant::new("V1 uneven 24 x1.8", Backend::new(Kind::Workers, 24.0, 0.08, LogNormal(0.5)))
            .load(540.0)
            .deadline(0.4, 0.1),
        Plant::new(
            "V2 falling, sharp x3",
            Backend::new(Kind::Scaling { contention: 0.01, crosstalk: 0.002 }, 1.0, 0.03, Exponential),
        )
        .load(1170.0)
        .deadline(0.4, 0.1),
        Plant::new("V3 cliff at 25 x2", Backend::new(CLIFF, 1.0, 1.0, LogNormal(0.3)))
            .load(1666.0)
            .deadline(0.3, 0.075),
        Plant::new("V4 mix there and back, unlabelled", sharing(24.0, 0.02))
            .loads([(0.0, 900.0), (60.0, 310.0), (120.0, 900.0)])
            .mix([(0.0, 0.1), (60.0, 0.5), (120.0, 0.1)], 10.0)
            .deadline(0.8, 0.15)
            .measured(20.0, 180.0)
            .change(60.0),
        Plant::new("V5 calls of 1 s, 5 x1.5", workers(5.0, 1.0))
            .load(7.5)
            .deadline(6.0, 1.5)
            .room(16)
            .measured(120.0, 600.0),
        Plant::new("V6 capacity ebbs 60 to 15", workers(60.0, 0.05).phases(ebb)).load(900.0).deadline(0.3, 0.075),
        Plant::new(
            "V7 429 at 25, batches of 10",
            Backend::new(Kind::Capped { drops: false }, 25.0, 0.06, LogNormal(0.4)),
        )
        .load(600.0)
        .batch(10),
        Plant::new(
            "V8 a day, falling",
            Backend::new(Kind::Scaling { contention: 0.02, crosstalk: 0.0006 }, 1.0, 0.05, Exponential),
        )
        .loads(day(24, 300.0, 0.7, 0.52))
        .measured(20.0, 240.0),
        Plant::new("V9 sharing 100 x1.3", sharing(100.0, 0.01))
            .load(13000.0)
            .deadline(0.05, 0.0125)
            .measured(10.0, 40.0),
        Plant::new(
            "V10 pauses of 0.5 s x0.9",
            Backend::new(Kind::Workers, 20.0, 0.05, LogNormal(0.8)).pauses(every(8.0, 14), 0.5),
        )
        .load(360.0)
        .deadline(1.5, 0.4)
        .room(128),
        Plant::new("V11 from 1 to 300", workers(300.0, 0.03))
            .load(9000.0)
            .deadline(0.3, 0.075)
            .start(1)
            .measured(0.0, 40.0)
            .change(0.0),
        Plant::new("V12 metastable, sharing 40", sharing(40.0, 0.05).pauses([30.0], 1.0))
            .load(640.0)
            .deadline(0.25, 0.06)
            .timeout(0.25)
            .retries(2)
            .measured(35.0, 90.0),
    ]
}
