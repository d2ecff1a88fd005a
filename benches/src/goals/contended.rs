//! *contended*: two threads take and release slots as fast as they can. There is room for both, so
//! no call waits.

use tokio::sync::Semaphore;

use super::uncontended::CAPACITY;
use crate::goal::{Goal, Row};
use crate::peers::{Answer, bulkhead};
use crate::scene::{Meter, Pace, Scene};
use crate::work::{now, on_threads};

pub(crate) fn goal() -> Goal {
    let rows = [
        Row::time("slot + drop, two threads", "tokio acquire", slot(2), acquire(2))
            .at_most(0.30)
            .headline("Take and release slots on two threads that do nothing else"),
        Row::time("slot + drop, two threads", "asyncband", slot(2), asyncband(2)),
        Row::time("try_slot + drop, two threads", "tokio try_acquire", try_slot(), try_acquire()).at_most(0.55),
    ];
    Goal::new("contended", rows).over_runs(RUNS)
}

/// The figures differ from process to process more than within one.
const RUNS: usize = 5;

fn scene(name: &str, body: impl Fn(usize, Meter<'_>) + 'static) -> Scene {
    Scene::new(format!("contended/{name}"), body).pace(Pace::Long)
}

pub(crate) fn slot(threads: usize) -> Scene {
    scene("slot", move |operations, meter| {
        let bulkhead = bulkhead(CAPACITY);
        on_threads(threads, operations, meter, || now(|| bulkhead.slot()).permit());
    })
}

pub(crate) fn acquire(threads: usize) -> Scene {
    scene("tokio acquire", move |operations, meter| {
        let semaphore = Semaphore::new(CAPACITY);
        on_threads(threads, operations, meter, || now(|| semaphore.acquire()).permit());
    })
}

pub(crate) fn async_lock(threads: usize) -> Scene {
    scene("async-lock acquire", move |operations, meter| {
        let semaphore = async_lock::Semaphore::new(CAPACITY);
        on_threads(threads, operations, meter, || now(|| semaphore.acquire()).permit());
    })
}

pub(crate) fn asyncband(threads: usize) -> Scene {
    scene("asyncband acquire", move |operations, meter| {
        let semaphore = asyncband::semaphore::Semaphore::new(CAPACITY);
        on_threads(threads, operations, meter, || now(|| semaphore.acquire(1)).permit());
    })
}

fn try_slot() -> Scene {
    scene("try_slot", |operations, meter| {
        let bulkhead = bulkhead(CAPACITY);
        on_threads(2, operations, meter, || bulkhead.try_slot().permit());
    })
}

fn try_acquire() -> Scene {
    scene("tokio try_acquire", |operations, meter| {
        let semaphore = Semaphore::new(CAPACITY);
        on_threads(2, operations, meter, || semaphore.try_acquire().permit());
    })
}
