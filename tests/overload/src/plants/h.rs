//! The first plants that the rules had not met.

use super::{day, every};
use crate::backend::{Backend, Kind, Phase};
use crate::plant::Plant;
use crate::random::Distribution::{Exponential, LogNormal};

const CLIFF: Kind = Kind::Curve(&[(40.0, 0.02), (60.0, 0.4), (400.0, 0.8)]);
const WALK: [f64; 8] = [40.0, 24.0, 56.0, 16.0, 32.0, 64.0, 20.0, 48.0];

pub(super) fn plants() -> Vec<Plant> {
    let workers = |servers, service| Backend::new(Kind::Workers, servers, service, Exponential);
    let walk = (0_u32..).zip(WALK).map(|(step, servers)| Phase::new(20.0 * f64::from(step), servers));
    vec![
        Plant::new("H1 heavy tails 64 x2", Backend::new(Kind::Workers, 64.0, 0.03, LogNormal(1.0)))
            .load(4266.0)
            .deadline(0.3, 0.075),
        Plant::new(
            "H2 falling, gentle x2",
            Backend::new(Kind::Scaling { contention: 0.1, crosstalk: 0.0002 }, 1.0, 0.02, Exponential),
        )
        .load(800.0),
        Plant::new("H3 capacity walks", workers(40.0, 0.05).phases(walk))
            .load(900.0)
            .deadline(0.3, 0.075)
            .measured(10.0, 160.0),
        Plant::new("H4 batches of 20, 0.7", workers(32.0, 0.1)).load(224.0).batch(20),
        Plant::new("H5 slow calls, 8 x1.3", Backend::new(Kind::Workers, 8.0, 2.0, LogNormal(0.6)))
            .load(5.2)
            .deadline(10.0, 2.5)
            .room(16)
            .measured(200.0, 900.0),
        Plant::new("H6 cliff at 40 x3", Backend::new(CLIFF, 1.0, 1.0, LogNormal(0.3))).load(6000.0).deadline(0.2, 0.05),
        Plant::new("H7 a day in 300 s", workers(32.0, 0.1)).loads(day(30, 320.0, 0.65, 0.42)).measured(20.0, 300.0),
        Plant::new(
            "H8 429 at 40-15-40",
            Backend::new(Kind::Capped { drops: false }, 40.0, 0.05, LogNormal(0.5)).phases([
                Phase::new(0.0, 40.0),
                Phase::new(50.0, 15.0),
                Phase::new(100.0, 40.0),
            ]),
        )
        .load(900.0)
        .measured(20.0, 150.0)
        .change(50.0),
        Plant::new("H9 200 workers x0.9", workers(200.0, 0.02)).load(9000.0).deadline(0.2, 0.05).measured(10.0, 60.0),
        Plant::new("H10 mix flips, unlabelled", workers(32.0, 0.01))
            .loads([(0.0, 2400.0), (60.0, 560.0)])
            .mix([(0.0, 0.05), (60.0, 0.4)], 20.0)
            .deadline(0.5, 0.1)
            .change(60.0),
        Plant::new(
            "H11 sharing, pauses x1.2",
            Backend::new(Kind::Sharing, 16.0, 0.05, Exponential).pauses(every(5.0, 23), 0.3),
        )
        .load(384.0)
        .deadline(0.8, 0.2),
    ]
}
