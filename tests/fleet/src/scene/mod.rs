//! The measurements: a scene for each of the promises.

mod arena;
mod chaos;
mod contended;
mod cost;
mod crash;
mod fail_fast;
mod loads;
mod memory;
mod moves;
mod postgres;

use std::time::Duration;

use anyhow::Result;

use crate::report::Row;

pub use arena::{Arena, Plan, Played};
pub use chaos::{Ground, Named, Storm, storm};
pub use contended::overtaken_at_home;
pub use fail_fast::attempts;
pub use postgres::Postgresql;

/// A part of the contest that can be run by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scene {
    /// Calls that do not wait.
    FailFast,
    /// Calls that wait, beside other schemes.
    Contended,
    /// Up to 256 calls that wait.
    Crowd,
    /// A limit of one.
    HandOff,
    /// How soon units move between processes.
    Moves,
    /// Round trips and the server's processor.
    Cost,
    /// Processes that are killed and stopped, and connections that are cut.
    Chaos,
    /// How soon the units of a dead process are free.
    Crash,
    /// Many processes of one name.
    Memory,
    /// The limit on PostgreSQL.
    Postgres,
    /// Different loads.
    Loads,
}

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Attempts that do not wait, over both networks together.
    pub attempts: u64,
    /// How long each contest is counted.
    pub time: Duration,
    /// How often each contest is run.
    pub rounds: usize,
    /// How long processes are killed.
    pub chaos: Duration,
    /// How many crashes are measured.
    pub crashes: usize,
}

impl Effort {
    /// A few minutes.
    pub const QUICK: Effort = Effort {
        attempts: 50_000,
        time: Duration::from_secs(2),
        rounds: 3,
        chaos: Duration::from_secs(20),
        crashes: 4,
    };

    /// As promised.
    pub const FULL: Effort = Effort {
        attempts: 1_000_000,
        time: Duration::from_secs(10),
        rounds: 3,
        chaos: Duration::from_secs(6 * 60 + 40),
        crashes: 20,
    };
}

impl Scene {
    /// All of them, in the order in which they run.
    pub const ALL: [Scene; 11] = [
        Scene::FailFast,
        Scene::Contended,
        Scene::Crowd,
        Scene::HandOff,
        Scene::Moves,
        Scene::Cost,
        Scene::Crash,
        Scene::Memory,
        Scene::Postgres,
        Scene::Loads,
        Scene::Chaos,
    ];

    /// Returns the name on the command line, and in the column of goals.
    pub fn name(self) -> &'static str {
        match self {
            Scene::FailFast => "fail-fast",
            Scene::Contended => "contended",
            Scene::Crowd => "crowd",
            Scene::HandOff => "hand-off",
            Scene::Moves => "moves",
            Scene::Cost => "cost",
            Scene::Chaos => "chaos",
            Scene::Crash => "crash",
            Scene::Memory => "memory",
            Scene::Postgres => "postgres",
            Scene::Loads => "loads",
        }
    }

    /// Runs it.
    ///
    /// # Errors
    ///
    /// Fails if a process or the server ends early.
    pub fn run(self, arena: &Arena, effort: &Effort) -> Result<Vec<Row>> {
        match self {
            Scene::FailFast => fail_fast::run(arena, effort),
            Scene::Contended => contended::run(arena, effort),
            Scene::Crowd => contended::crowd(arena, effort),
            Scene::HandOff => contended::hand_off(arena, effort),
            Scene::Moves => moves::run(arena, effort),
            Scene::Cost => cost::run(arena, effort),
            Scene::Chaos => chaos::run(arena, effort),
            Scene::Crash => crash::run(arena, effort),
            Scene::Memory => memory::run(arena),
            Scene::Postgres => postgres::run(arena, effort),
            Scene::Loads => loads::run(arena, effort),
        }
    }
}

/// Milliseconds.
#[expect(clippy::cast_precision_loss, reason = "an f64 has more digits than a time that was measured")]
pub(crate) fn millis(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "an f64 has more digits than what was counted")]
pub(crate) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

pub(crate) fn count(number: usize) -> u64 {
    number as u64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
