//! Paired ratios of time: ours and the peer's alternate within one process, and the median of the
//! rounds' ratios counts. Criterion measures one scene after the other, so a change of the
//! machine's speed between the two would change its ratio.

use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use serde::{Deserialize, Serialize};

use super::float;
use crate::scene::{Clock, Pace, Scene};

/// How many rounds, and how long.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Rounds of each pair.
    pub rounds: usize,
    /// Rounds of a pair that takes about a second a round.
    pub slow_rounds: usize,
    /// The shortest round, where its length can be chosen.
    pub least: Duration,
}

impl Effort {
    /// For figures to keep. Many short rounds, because other load on the machine comes and goes.
    pub const FULL: Effort = Effort { rounds: 101, slow_rounds: 11, least: Duration::from_millis(2) };

    /// For a first look.
    pub const QUICK: Effort = Effort { rounds: 31, slow_rounds: 5, least: Duration::from_millis(2) };
}

/// The result of one pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The name of our scene.
    pub ours: String,
    /// The name of the peer's scene.
    pub peer: String,
    /// Nanoseconds of one operation, the median of all rounds.
    pub ours_ns: f64,
    /// The same for the peer.
    pub peer_ns: f64,
    /// Ours ÷ the peer's, the median of the rounds' ratios.
    pub ratio: f64,
}

/// Measures pairs in the same rounds: each round times every pair once.
#[must_use]
pub fn compare(pairs: &[(Scene, Scene)], effort: Effort) -> Vec<Comparison> {
    let mut pairs: Vec<_> = pairs.iter().map(|(ours, peer)| Rounds::of(ours, peer, effort)).collect();
    for round in 0..effort.rounds {
        pairs.iter_mut().filter(|pair| round < pair.number).for_each(|pair| pair.measure(round));
    }
    pairs.into_iter().map(|pair| summary(&pair.ours.name, &pair.peer.name, &pair.times)).collect()
}

/// One pair in the course of its rounds.
struct Rounds<'a> {
    ours: &'a Scene,
    peer: &'a Scene,
    /// Operations of a round, ours and the peer's.
    operations: (usize, usize),
    /// How many rounds there will be.
    number: usize,
    times: Vec<(f64, f64)>,
}

impl<'a> Rounds<'a> {
    fn of(ours: &'a Scene, peer: &'a Scene, effort: Effort) -> Self {
        let operations = (calibrate(ours, effort.least), calibrate(peer, effort.least));
        let number = if matches!(ours.pace, Pace::Once(_)) { effort.slow_rounds } else { effort.rounds };
        Rounds { ours, peer, operations, number, times: Vec::new() }
    }

    fn measure(&mut self, round: usize) {
        let ours = || nanoseconds(self.ours, self.operations.0);
        let peer = || nanoseconds(self.peer, self.operations.1);
        self.times.push(in_turn(round.is_multiple_of(2), ours, peer));
    }
}

/// Runs both in this order or in the other, because the first may leave the machine warmer.
pub fn in_turn<T>(straight: bool, first: impl FnOnce() -> T, second: impl FnOnce() -> T) -> (T, T) {
    if straight {
        let first = first();
        return (first, second());
    }
    let second = second();
    (first(), second)
}

/// Returns the medians of what both took in each round, and that of their ratios.
///
/// # Panics
///
/// If there was no round.
#[must_use]
pub fn summary(ours: &str, peer: &str, times: &[(f64, f64)]) -> Comparison {
    Comparison {
        ours: ours.to_owned(),
        peer: peer.to_owned(),
        ours_ns: median(times.iter().map(|(ours, _)| *ours)),
        peer_ns: median(times.iter().map(|(_, peer)| *peer)),
        ratio: median(times.iter().map(|(ours, peer)| ours / peer)),
    }
}

/// Returns the middle value, or the mean of the two in the middle.
///
/// # Panics
///
/// If there are no values.
#[must_use]
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
}

/// Returns how many operations make a round long enough.
fn calibrate(scene: &Scene, least: Duration) -> usize {
    let least = match scene.pace {
        Pace::Any => least,
        Pace::Long => 5 * least,
        Pace::Fixed(operations) | Pace::Once(operations) => return operations,
    };
    let mut operations = 64;
    while elapsed(scene, operations) < least {
        operations *= 2;
    }
    operations
}

/// Measures the time of one operation.
fn nanoseconds(scene: &Scene, operations: usize) -> f64 {
    float(elapsed(scene, operations).as_nanos()) / float(operations as u128)
}

/// Measures the time of the given number of operations, after as many to warm up where the work
/// can be repeated.
#[must_use]
pub fn elapsed(scene: &Scene, operations: usize) -> Duration {
    let mut elapsed = Duration::ZERO;
    scene.perform(operations, &mut |work| {
        if !matches!(scene.pace, Pace::Once(_)) {
            work();
        }
        elapsed = match scene.clock {
            Clock::Wall => wall_time(work),
            Clock::Cpu => processor_time(work),
        };
    });
    elapsed
}

fn wall_time(work: &mut dyn FnMut()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn processor_time(work: &mut dyn FnMut()) -> Duration {
    let start = ProcessTime::now();
    work();
    start.elapsed()
}
