//! The circuit that processes share, on PostgreSQL and on Redis: a scene for each of its promises.

mod cost;
mod counting;
mod crash;
mod ground;
mod naive;
mod peer;
mod race;

use std::time::Duration;

use anyhow::Result;

use crate::report::Row;

pub use crash::{Prober, probe};
pub use ground::{Ground, Kind, Site};
pub use naive::{Naive, Register};
pub use race::rows;

/// A part of the contest that can be run by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scene {
    /// Many connections to one circuit at the same time.
    Race,
    /// Statements of calls while the circuit is closed.
    Cost,
    /// How soon a process sees that another one has opened the circuit.
    Peer,
    /// How soon the place of a dead prober is free.
    Crash,
}

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Rounds of the race.
    pub rounds: u64,
    /// Rounds of the race of the scheme that reads and then writes.
    pub naive_rounds: u64,
    /// How long statements are counted.
    pub time: Duration,
    /// How often the circuit is opened for a peer.
    pub trips: usize,
    /// How many probers are killed.
    pub crashes: usize,
}

impl Effort {
    /// For a test.
    pub const SHORT: Effort =
        Effort { rounds: 20, naive_rounds: 20, time: Duration::from_millis(700), trips: 5, crashes: 1 };

    /// Less than a minute.
    pub const QUICK: Effort =
        Effort { rounds: 300, naive_rounds: 100, time: Duration::from_secs(2), trips: 30, crashes: 3 };

    /// As promised.
    pub const FULL: Effort =
        Effort { rounds: 10_000, naive_rounds: 300, time: Duration::from_secs(10), trips: 200, crashes: 10 };
}

impl Scene {
    /// All of them, in the order in which they run.
    pub const ALL: [Scene; 4] = [Scene::Race, Scene::Cost, Scene::Peer, Scene::Crash];

    /// Returns the name on the command line, and in the column of goals.
    pub fn name(self) -> &'static str {
        match self {
            Scene::Race => "race",
            Scene::Cost => "statements",
            Scene::Peer => "peer",
            Scene::Crash => "dead-prober",
        }
    }

    /// Runs it on each server.
    ///
    /// # Errors
    ///
    /// Fails if a process or a server ends early.
    pub fn run(self, ground: &Ground, effort: &Effort) -> Result<Vec<Row>> {
        match self {
            Scene::Race => race::run(ground, effort),
            Scene::Cost => cost::run(ground, effort),
            Scene::Peer => peer::run(ground, effort),
            Scene::Crash => crash::run(ground, effort),
        }
    }
}
