//! Series for the plots: one cost against another number, for each contender.

use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use super::float;
use super::time::{median, nanoseconds};
use crate::goals::{contended, flat, hand_off};
use crate::scene::Scene;
use crate::work::cycle;

/// A plot to be.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Chart {
    /// Its file, without the ending.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// What is varied.
    pub x: String,
    /// What it costs.
    pub y: String,
    /// One for each contender.
    pub lines: Vec<Line>,
}

/// A contender's points.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Line {
    /// Whose.
    pub contender: String,
    /// Along x.
    pub points: Vec<(f64, f64)>,
}

type Contender = (&'static str, fn(usize) -> Scene);

struct Plan {
    labels: [&'static str; 4],
    xs: &'static [usize],
    operations: fn(usize) -> usize,
    contenders: &'static [Contender],
}

const WAITERS: Plan = Plan {
    labels: ["waiters", "One hand-off, by how many wait", "waiting", "nanoseconds a hand-off"],
    xs: &[1, 10, 100, 1_000, 10_000, 100_000, 1_000_000],
    operations: |_| 10_000,
    contenders: &[
        ("Bulklink", flat::hand_off),
        ("tokio", tokio_cycle),
        ("async-lock", async_lock_cycle),
        ("asyncband", asyncband_cycle),
    ],
};

const THREADS: Plan = Plan {
    labels: [
        "threads",
        "Acquire and release, nobody waits, by threads",
        "threads",
        "nanoseconds an operation and thread",
    ],
    xs: &[1, 2, 4, 8],
    operations: |_| 50_000,
    contenders: &[
        ("Bulklink", contended::slot),
        ("tokio", contended::acquire),
        ("async-lock", contended::async_lock),
        ("asyncband", contended::asyncband),
    ],
};

const TASKS: Plan = Plan {
    labels: ["tasks", "Tasks that share ten permits, by their number", "tasks", "nanoseconds an acquisition"],
    xs: &[10, 100, 1_000, 10_000],
    operations: |tasks| hand_off::OPERATIONS.max(20 * tasks),
    contenders: &[
        ("Bulklink", hand_off::slot),
        ("tokio", hand_off::acquire),
        ("async-lock", hand_off::async_lock),
        ("asyncband", hand_off::asyncband),
    ],
};

/// Measures all series. The longest queue is left out of a quick run.
#[must_use]
pub fn measure(quick: bool) -> Vec<Chart> {
    let (rounds, most) = if quick { (7, 100_000) } else { (15, usize::MAX) };
    [WAITERS, THREADS, TASKS].iter().map(|plan| chart(plan, rounds, most)).collect()
}

fn chart(plan: &Plan, rounds: usize, most: usize) -> Chart {
    let xs: Vec<_> = plan.xs.iter().copied().filter(|x| *x <= most).collect();
    let [name, title, x, y] = plan.labels.map(str::to_owned);
    let mut lines: Vec<_> = plan.contenders.iter().map(|(name, _)| line(name)).collect();
    for at in xs {
        let costs = costs(plan, at, rounds);
        lines.iter_mut().zip(costs).for_each(|(line, cost)| line.points.push((float(at as u128), cost)));
    }
    Chart { name, title, x, y, lines }
}

fn line(contender: &str) -> Line {
    Line { contender: contender.to_owned(), points: Vec::new() }
}

/// Each contender's at one place, in rounds that go around.
fn costs(plan: &Plan, at: usize, rounds: usize) -> Vec<f64> {
    let scenes: Vec<_> = plan.contenders.iter().map(|(_, scene)| scene(at)).collect();
    let mut times = vec![Vec::new(); scenes.len()];
    for _ in 0..rounds {
        let round = scenes.iter().map(|scene| nanoseconds(scene, (plan.operations)(at)));
        times.iter_mut().zip(round).for_each(|(times, time)| times.push(time));
    }
    times.into_iter().map(|times| median(times.into_iter())).collect()
}

fn tokio_cycle(waiting: usize) -> Scene {
    Scene::new("waiters/tokio", move |operations, meter| {
        let semaphore = Semaphore::new(1);
        cycle(waiting, operations, meter, || semaphore.acquire());
    })
}

fn async_lock_cycle(waiting: usize) -> Scene {
    Scene::new("waiters/async-lock", move |operations, meter| {
        let semaphore = async_lock::Semaphore::new(1);
        cycle(waiting, operations, meter, || semaphore.acquire());
    })
}

fn asyncband_cycle(waiting: usize) -> Scene {
    Scene::new("waiters/asyncband", move |operations, meter| {
        let semaphore = asyncband::semaphore::Semaphore::new(1);
        cycle(waiting, operations, meter, || semaphore.acquire(1));
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_has_every_contender_at_every_place_up_to_the_most() {
        let chart = chart(&Plan { operations: |_| 100, ..WAITERS }, 1, 10);
        assert_eq!(chart.lines.len(), WAITERS.contenders.len());
        for line in chart.lines {
            let xs: Vec<_> = line.points.iter().map(|(x, _)| *x).collect();
            assert_eq!(xs, [1.0, 10.0], "{}", line.contender);
            assert!(line.points.iter().all(|(_, cost)| *cost > 0.0));
        }
    }
}
