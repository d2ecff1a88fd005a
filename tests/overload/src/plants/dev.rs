//! The plants that the rules were tuned with.

use super::every;
use crate::backend::{Backend, Kind, Phase};
use crate::peers::Outcome;
use crate::plant::Plant;
use crate::random::Distribution::{Constant, Exponential, LogNormal};

const DIALOGUE: Kind = Kind::Curve(&[(20.0, 0.060), (100.0, 0.300)]);
const FLAT: Kind = Kind::Curve(&[(1.0, 0.1), (1000.0, 0.1)]);
const LOW: Kind = Kind::Curve(&[(0.0, 0.1), (1000.0, 0.6)]);
const HIGH: Kind = Kind::Curve(&[(0.0, 0.1), (1000.0, 10.1)]);

/// The names of the plants of Vector's test, with little jitter and with much.
const VECTOR: [[&str; 8]; 2] = [
    [
        "c1 429",
        "c2 503 unseen",
        "c3 drops",
        "c4 queued",
        "c5 low slope",
        "c6 high slope",
        "c7 load added",
        "c8 load removed",
    ],
    ["c1j", "c2j", "c3j", "c4j", "c5j", "c6j", "c7j", "c8j"],
];

pub(super) fn plants() -> Vec<Plant> {
    let mut plants = dialogue().to_vec();
    plants.push(Plant { burst: 1000, ..flat() });
    plants.extend(vector(VECTOR[0], 30.0, 0.1));
    plants.extend(vector(VECTOR[1], 12.0, 0.8));
    plants.extend(others());
    plants
}

fn dialogue() -> [Plant; 3] {
    [("a.7 dialogue x0.7", 0.7), ("a1.5 dialogue x1.5", 1.5), ("a3 dialogue x3", 3.0)].map(|(name, factor)| {
        let backend = Backend::new(DIALOGUE, 1.0, 1.0, LogNormal(0.1));
        Plant::new(name, backend).load(333.0 * factor).deadline(0.25, 0.0625)
    })
}

fn flat() -> Plant {
    let backend = Backend::new(FLAT, 1.0, 1.0, Constant);
    Plant::new("b burst 1000", backend).load(10.0).deadline(1.5, 0.0).room(2000).measured(0.0, 21.0)
}

fn vector(names: [&'static str; 8], servers: f64, spread: f64) -> [Plant; 8] {
    let backend = |kind, service, servers| Backend::new(kind, servers, service, LogNormal(spread));
    let plant = |name, backend| Plant::new(name, backend).load(20.0 * servers).deadline(1.0, 0.25);
    let capped = |drops| backend(Kind::Capped { drops }, 0.1, servers);
    let steps = |servers, later| {
        backend(Kind::Workers, 0.1, servers).phases([Phase::new(0.0, servers), Phase::new(60.0, later)])
    };
    [
        plant(names[0], capped(false)),
        Plant { fails_as: Outcome::Ignore, ..plant(names[1], capped(false)) },
        plant(names[2], capped(true)).timeout(1.0),
        plant(names[3], backend(Kind::Workers, 0.1, servers)),
        plant(names[4], backend(LOW, 1.0, 1.0)),
        plant(names[5], backend(HIGH, 1.0, 1.0)),
        plant(names[6], steps(servers, servers / 2.0)).change(60.0),
        plant(names[7], steps(servers / 2.0, servers)).change(60.0),
    ]
}

/// Workers with exponential work.
fn workers(servers: f64, service: f64) -> Backend {
    Backend::new(Kind::Workers, servers, service, Exponential)
}

fn others() -> [Plant; 12] {
    [
        Plant::new("d hidden 32 x1.5", workers(32.0, 0.1)).load(480.0).measured(100.0, 1500.0),
        Plant::new(
            "e falling x3",
            Backend::new(Kind::Scaling { contention: 0.02, crosstalk: 0.0006 }, 1.0, 0.05, Exponential),
        )
        .load(880.0),
        Plant::new("f metastable", workers(32.0, 0.05).pauses([30.0], 0.2))
            .load(544.0)
            .deadline(0.2, 0.05)
            .timeout(0.2)
            .retries(3)
            .measured(35.0, 90.0),
        Plant::new("g fast and slow", workers(32.0, 0.01))
            .loads([(0.0, 1650.0), (60.0, 720.0)])
            .mix([(0.0, 0.1), (60.0, 0.3)], 20.0)
            .deadline(0.5, 0.1),
        Plant::new(
            "h steps 32-12-32",
            workers(32.0, 0.1).phases([Phase::new(0.0, 32.0), Phase::new(60.0, 12.0), Phase::new(120.0, 32.0)]),
        )
        .load(384.0)
        .measured(20.0, 180.0)
        .change(60.0),
        Plant::new("i noisy, then busy", Backend::new(Kind::Workers, 32.0, 0.1, LogNormal(1.2)))
            .loads([(0.0, 20.0), (300.0, 272.0)])
            .deadline(1.5, 0.25)
            .measured(0.0, 400.0),
        Plant::new("j from 2 to 100", workers(100.0, 0.05))
            .load(1600.0)
            .deadline(0.4, 0.1)
            .measured(0.0, 60.0)
            .start(2)
            .change(0.0),
        Plant::new("k pauses of 1 s", workers(32.0, 0.05).pauses(every(15.0, 7), 1.0))
            .load(450.0)
            .deadline(3.0, 1.5)
            .room(512),
        Plant::new("l load 0.7", workers(32.0, 0.1)).load(224.0),
        Plant::new(
            "m twice as slow",
            workers(32.0, 0.1).phases([Phase::new(0.0, 32.0), Phase::new(60.0, 32.0).work(2.0)]),
        )
        .loads([(0.0, 384.0), (60.0, 240.0)])
        .deadline(1.0, 0.2)
        .change(60.0),
        Plant::new("n from 200 to 8", workers(8.0, 0.05))
            .load(320.0)
            .deadline(0.3, 0.075)
            .measured(0.0, 120.0)
            .start(200)
            .change(0.0),
        Plant::new("o sharing 16 x2", Backend::new(Kind::Sharing, 16.0, 0.05, Exponential))
            .load(640.0)
            .deadline(0.3, 0.075),
    ]
}
