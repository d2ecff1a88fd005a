//! The plants of the queue: slots that work at one speed, and open arrivals with deadlines.

use crate::random::Distribution::{self, Exponential, LogNormal};

/// A plant of the queue.
#[derive(Clone, Copy, Debug)]
pub struct Plant {
    /// Its name.
    pub name: &'static str,
    /// The slots.
    pub slots: usize,
    /// The mean hold, without slow calls.
    pub service: f64,
    /// The distribution of the hold.
    pub distribution: Distribution,
    /// The share of slow calls, and the factor of their holds.
    pub slow: (f64, f64),
    /// From a share of the run to another, a factor of all holds.
    pub step: (f64, f64, f64),
    /// The places of the waiting room.
    pub room: usize,
    /// The times of calls from arrival to deadline; half of the calls have each.
    pub deadlines: [f64; 2],
    /// The calls that come together.
    pub batch: u32,
}

impl Plant {
    /// Returns the mean hold.
    pub fn mean(&self) -> f64 {
        self.service * (1.0 - self.slow.0 + self.slow.0 * self.slow.1)
    }
}

const PLAIN: Plant = Plant {
    name: "Q1 newcomer 16x50 ms, D 80",
    slots: 16,
    service: 0.05,
    distribution: LogNormal(0.1),
    slow: (0.0, 1.0),
    step: (0.0, 0.0, 1.0),
    room: 32,
    deadlines: [0.08; 2],
    batch: 1,
};

const ROOMY: Plant = Plant { room: 200, deadlines: [0.2; 2], ..PLAIN };

/// The plants that disciplines were chosen with.
pub const DEV: [Plant; 8] = [
    PLAIN,
    Plant { name: "Q2 the same, room 500", room: 500, ..PLAIN },
    Plant { name: "Q3 exp 50 ms, D 200, room 200", distribution: Exponential, ..ROOMY },
    Plant { name: "Q4 heavy 50 ms, D 250, room 200", distribution: LogNormal(1.0), deadlines: [0.25; 2], ..ROOMY },
    Plant {
        name: "Q5 10x10 ms, D 200, room 500",
        slots: 10,
        service: 0.01,
        distribution: Exponential,
        room: 500,
        ..ROOMY
    },
    Plant { name: "Q6 two deadlines 100/500, room 200", distribution: LogNormal(0.3), deadlines: [0.1, 0.5], ..ROOMY },
    Plant {
        name: "Q7 5 % are 10x, D 300, room 200",
        service: 0.02,
        distribution: LogNormal(0.3),
        slow: (0.05, 10.0),
        deadlines: [0.3; 2],
        ..ROOMY
    },
    Plant { name: "Q8 batches of 40, D 200, room 200", distribution: LogNormal(0.3), batch: 40, ..ROOMY },
];

/// The plants that they had not met.
pub const HELD_OUT: [Plant; 5] = [
    Plant {
        name: "QH1 4x2 s, D 10 s, room 50",
        slots: 4,
        service: 2.0,
        distribution: LogNormal(0.6),
        deadlines: [10.0; 2],
        room: 50,
        ..PLAIN
    },
    Plant {
        name: "QH2 100x5 ms, D 15, room 1000",
        slots: 100,
        service: 0.005,
        distribution: LogNormal(0.5),
        deadlines: [0.015; 2],
        room: 1000,
        ..PLAIN
    },
    Plant {
        name: "QH3 1x1 ms exp, D 20, room 100",
        slots: 1,
        service: 0.001,
        distribution: Exponential,
        deadlines: [0.02; 2],
        room: 100,
        ..PLAIN
    },
    Plant {
        name: "QH4 hold x1.8 for a third, D 150",
        distribution: LogNormal(0.2),
        step: (0.4, 0.7, 1.8),
        deadlines: [0.15; 2],
        ..ROOMY
    },
    Plant {
        name: "QH5 three parts of 1:4, exp, D 60/240",
        service: 0.03,
        distribution: Exponential,
        deadlines: [0.06, 0.24],
        room: 300,
        ..PLAIN
    },
];
