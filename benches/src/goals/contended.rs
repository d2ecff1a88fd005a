//! *contended*: two threads take and give back as fast as they can. There is room for both, so nobody waits.

use tokio::sync::Semaphore;

use super::uncontended::CAPACITY;
use crate::goal::{Goal, Row};
use crate::peers::{Answer, bulkhead};
use crate::scene::Scene;
use crate::work::{now, on_threads};

pub(crate) fn goal() -> Goal {
    let rows = vec![
        Row::time("slot + drop, two threads", "tokio acquire", slot(2), acquire(2)).at_most(0.30),
        Row::time("slot + drop, two threads", "asyncband", slot(2), asyncband(2)),
        Row::time("try_slot + drop, two threads", "tokio try_acquire", try_slot(), try_acquire()).at_most(0.55),
    ];
    Goal { id: "contended", rows }
}

pub(crate) fn slot(threads: usize) -> Scene {
    Scene::new("contended/slot", move |operations, meter| {
        let bulkhead = bulkhead(CAPACITY);
        on_threads(threads, operations, meter, || now(|| bulkhead.slot()).permit());
    })
}

pub(crate) fn acquire(threads: usize) -> Scene {
    Scene::new("contended/tokio acquire", move |operations, meter| {
        let semaphore = Semaphore::new(CAPACITY);
        on_threads(threads, operations, meter, || now(|| semaphore.acquire()).permit());
    })
}

pub(crate) fn async_lock(threads: usize) -> Scene {
    Scene::new("contended/async-lock acquire", move |operations, meter| {
        let semaphore = async_lock::Semaphore::new(CAPACITY);
        on_threads(threads, operations, meter, || now(|| semaphore.acquire()).permit());
    })
}

pub(crate) fn asyncband(threads: usize) -> Scene {
    Scene::new("contended/asyncband acquire", move |operations, meter| {
        let semaphore = asyncband::semaphore::Semaphore::new(CAPACITY);
        on_threads(threads, operations, meter, || now(|| semaphore.acquire(1)).permit());
    })
}

fn try_slot() -> Scene {
    Scene::new("contended/try_slot", |operations, meter| {
        let bulkhead = bulkhead(CAPACITY);
        on_threads(2, operations, meter, || bulkhead.try_slot().permit());
    })
}

fn try_acquire() -> Scene {
    Scene::new("contended/tokio try_acquire", |operations, meter| {
        let semaphore = Semaphore::new(CAPACITY);
        on_threads(2, operations, meter, || semaphore.try_acquire().permit());
    })
}
