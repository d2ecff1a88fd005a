//! Time: ours and the peer's in rounds that alternate, within one process. The median of the rounds' ratios is what counts.

use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use serde::{Deserialize, Serialize};

use super::float;
use crate::scene::{Clock, Pace, Scene};

/// How hard to try.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Of each pair.
    pub rounds: usize,
    /// Of each pair that takes a while for itself.
    pub slow_rounds: usize,
    /// The shortest round, where its length can be chosen.
    pub least: Duration,
}

impl Effort {
    /// For figures to be kept. Many short rounds, because what else the machine does comes and goes.
    pub const FULL: Effort = Effort { rounds: 101, slow_rounds: 11, least: Duration::from_millis(2) };

    /// For a first look.
    pub const QUICK: Effort = Effort { rounds: 31, slow_rounds: 5, least: Duration::from_millis(2) };
}

/// What came out of one pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The name of our scene.
    pub ours: String,
    /// The name of the peer's.
    pub peer: String,
    /// Nanoseconds an operation, the median of all rounds.
    pub ours_ns: f64,
    /// The peer's.
    pub peer_ns: f64,
    /// Ours ÷ the peer's, the median of each round's.
    pub ratio: f64,
}

/// Measures a pair.
#[must_use]
pub fn compare(ours: &Scene, peer: &Scene, effort: Effort) -> Comparison {
    let (our_number, peer_number) = (calibrate(ours, effort.least), calibrate(peer, effort.least));
    let rounds = if matches!(ours.pace, Pace::Once(_)) { effort.slow_rounds } else { effort.rounds };
    let mut times = Vec::new();
    for round in 0..rounds {
        times.push(in_turn(round % 2 == 0, || nanoseconds(ours, our_number), || nanoseconds(peer, peer_number)));
    }
    summary(&ours.name, &peer.name, &times)
}

/// Both, in this order or the other, since the one before may leave the machine warmer.
fn in_turn<T>(straight: bool, first: impl FnOnce() -> T, second: impl FnOnce() -> T) -> (T, T) {
    if straight {
        let first = first();
        return (first, second());
    }
    let second = second();
    (first(), second)
}

fn summary(ours: &str, peer: &str, times: &[(f64, f64)]) -> Comparison {
    Comparison {
        ours: ours.to_owned(),
        peer: peer.to_owned(),
        ours_ns: median(times.iter().map(|(ours, _)| *ours)),
        peer_ns: median(times.iter().map(|(_, peer)| *peer)),
        ratio: median(times.iter().map(|(ours, peer)| ours / peer)),
    }
}

/// The middle of the values, or of the two in the middle.
///
/// # Panics
///
/// If there are none.
#[must_use]
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
}

/// How many operations make a round long enough.
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

/// The time of one operation.
#[must_use]
pub fn nanoseconds(scene: &Scene, operations: usize) -> f64 {
    float(elapsed(scene, operations).as_nanos()) / float(operations as u128)
}

/// The time of so many operations, after as many to warm up where that can be.
fn elapsed(scene: &Scene, operations: usize) -> Duration {
    let mut elapsed = Duration::ZERO;
    scene.perform(operations, &mut |work| {
        if !matches!(scene.pace, Pace::Once(_)) {
            work();
        }
        elapsed = match scene.clock {
            Clock::Wall => on_the_wall(work),
            Clock::Cpu => on_the_processors(work),
        };
    });
    elapsed
}

fn on_the_wall(work: &mut dyn FnMut()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn on_the_processors(work: &mut dyn FnMut()) -> Duration {
    let start = ProcessTime::now();
    work();
    start.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle_whatever_the_order() {
        assert_eq!(median([9.0, 1.0, 2.0].into_iter()), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 100.0].into_iter()), 3.0);
    }

    #[test]
    fn what_counts_is_the_median_of_the_ratios_and_not_the_ratio_of_the_medians() {
        // The machine slows down in mid-run, for both alike.
        let times = [(1.0, 2.0), (2.0, 4.0), (30.0, 10.0), (10.0, 20.0), (11.0, 22.0)];
        let summary = summary("a", "b", &times);
        assert_eq!((summary.ours_ns, summary.peer_ns, summary.ratio), (10.0, 10.0, 0.5));
    }

    #[test]
    fn either_may_go_first_and_each_keeps_its_place() {
        for straight in [true, false] {
            let mut order = Vec::new();
            let order = std::cell::RefCell::new(&mut order);
            let note = |name| {
                order.borrow_mut().push(name);
                name
            };
            assert_eq!(in_turn(straight, || note("ours"), || note("peer")), ("ours", "peer"));
            assert_eq!(order.borrow()[0] == "ours", straight);
        }
    }

    #[test]
    fn only_the_work_is_timed_and_set_up_is_not() {
        let slow = Scene::new("slow to set up", |_, meter| {
            std::thread::sleep(Duration::from_millis(20));
            meter(&mut || {});
        });
        assert!(elapsed(&slow, 1) < Duration::from_millis(20));
    }
}
