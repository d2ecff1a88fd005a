//! The series that criterion draws: the cost of one operation against a varying number.
//!
//! Every scene has a fixed number of operations. Otherwise criterion would choose a few operations
//! for a long queue, because it plans by the time that setting up takes.

use crate::goals::{contended, flat, hand_off, wait_cycle};
use crate::scene::{Pace, Scene};
use crate::work::cycle;

/// One chart: a line for each contender.
#[derive(Debug)]
pub struct Series {
    /// The name of criterion's group, which names the variable.
    pub name: &'static str,
    /// The values of the varied number.
    pub xs: &'static [usize],
    contenders: &'static [Contender],
    operations: fn(usize) -> usize,
}

type Contender = (&'static str, fn(usize) -> Scene);

/// One hand-off, by the number of waiters.
const WAITERS: Series = Series {
    name: "by number of waiters",
    xs: &[1, 10, 100, 1_000, 10_000, 100_000, 1_000_000],
    contenders: &[
        ("Bulklink", flat::hand_off),
        ("tokio", wait_cycle::acquire),
        ("async-lock", async_lock_cycle),
        ("asyncband", asyncband_cycle),
    ],
    operations: |_| 10_000,
};

/// Acquire and release without waiting, by the number of threads.
const THREADS: Series = Series {
    name: "by number of threads",
    xs: &[1, 2, 4, 8],
    contenders: &[
        ("Bulklink", contended::slot),
        ("tokio", contended::acquire),
        ("async-lock", contended::async_lock),
        ("asyncband", contended::asyncband),
    ],
    operations: |_| 50_000,
};

/// Tasks that share ten permits, by the number of tasks.
const TASKS: Series = Series {
    name: "by number of tasks",
    xs: &[10, 100, 1_000, 10_000],
    contenders: &[
        ("Bulklink", hand_off::slot),
        ("tokio", hand_off::acquire),
        ("async-lock", hand_off::async_lock),
        ("asyncband", hand_off::asyncband),
    ],
    operations: |tasks| hand_off::OPERATIONS.max(20 * tasks),
};

/// All series.
pub const ALL: [Series; 3] = [WAITERS, THREADS, TASKS];

impl Series {
    /// Returns each contender's scene at one value of the varied number.
    pub fn scenes(&self, x: usize) -> impl Iterator<Item = (&'static str, Scene)> {
        let pace = Pace::Fixed((self.operations)(x));
        self.contenders.iter().map(move |(name, scene)| (*name, scene(x).pace(pace)))
    }
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
