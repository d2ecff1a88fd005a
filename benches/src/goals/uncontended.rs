//! *uncontended*: a slot is taken and given back on one thread, while nobody waits.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::goal::{Goal, Row};
use crate::peers::bulkhead;
use crate::scene::Scene;
use crate::work::take;

/// Room enough for all that is taken at a time.
pub(crate) const CAPACITY: usize = 10;

pub(crate) fn goal() -> Goal {
    let owned = "owned slot + drop";
    let peers = [("async-lock", async_lock as fn() -> Scene), ("asyncband", asyncband), ("throttle-net", throttle_net)];
    let instructions = peers.map(|(name, peer)| Row::instructions(WHAT, name, slot(), peer()));
    let times = peers.map(|(name, peer)| Row::time(WHAT, name, slot(), peer()));
    let goals = [
        Row::instructions(WHAT, "tokio acquire", slot(), acquire()).at_most(0.20),
        Row::time(WHAT, "tokio acquire", slot(), acquire()).at_most(0.30),
        Row::instructions(owned, "tokio acquire_owned", slot_owned(), acquire_owned()).at_most(0.35),
        Row::time(owned, "tokio acquire_owned", slot_owned(), acquire_owned()),
    ];
    Goal { id: "uncontended", rows: goals.into_iter().chain(instructions).chain(times).collect() }
}

const WHAT: &str = "slot + drop";

/// Ours; other goals compare themselves with it.
pub(crate) fn slot() -> Scene {
    Scene::new("uncontended/slot", |operations, meter| {
        let bulkhead = bulkhead(CAPACITY);
        take(operations, meter, || bulkhead.slot());
    })
}

pub(crate) fn acquire() -> Scene {
    Scene::new("uncontended/tokio acquire", |operations, meter| {
        let semaphore = Semaphore::new(CAPACITY);
        take(operations, meter, || semaphore.acquire());
    })
}

fn slot_owned() -> Scene {
    Scene::new("uncontended/slot_owned", |operations, meter| {
        let bulkhead = bulkhead(CAPACITY);
        take(operations, meter, || bulkhead.slot_owned());
    })
}

fn acquire_owned() -> Scene {
    Scene::new("uncontended/tokio acquire_owned", |operations, meter| {
        let semaphore = Arc::new(Semaphore::new(CAPACITY));
        take(operations, meter, || Arc::clone(&semaphore).acquire_owned());
    })
}

fn async_lock() -> Scene {
    Scene::new("uncontended/async-lock acquire", |operations, meter| {
        let semaphore = async_lock::Semaphore::new(CAPACITY);
        take(operations, meter, || semaphore.acquire());
    })
}

fn asyncband() -> Scene {
    Scene::new("uncontended/asyncband acquire", |operations, meter| {
        let semaphore = asyncband::semaphore::Semaphore::new(CAPACITY);
        take(operations, meter, || semaphore.acquire(1));
    })
}

fn throttle_net() -> Scene {
    Scene::new("uncontended/throttle-net acquire", |operations, meter| {
        let bulkhead = throttle_net::Bulkhead::new(10);
        take(operations, meter, || bulkhead.acquire());
    })
}
