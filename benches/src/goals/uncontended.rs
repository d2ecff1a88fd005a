//! *uncontended*: a slot is taken and released on one thread, without waiters.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use tokio::sync::Semaphore;

use crate::goal::{Goal, Row};
use crate::peers::bulkhead;
use crate::scene::Scene;
use crate::work::{repeat, take};

/// More than the slots that any scene takes at a time.
pub(crate) const CAPACITY: usize = 10;

pub(crate) fn goal() -> Goal {
    let owned = "owned slot + drop";
    let peers = [("async-lock", async_lock as fn() -> Scene), ("asyncband", asyncband), ("throttle-net", throttle_net)];
    let instructions = peers.map(|(name, peer)| Row::instructions(WHAT, name, slot(), peer()));
    let times = peers.map(|(name, peer)| Row::time(WHAT, name, slot(), peer()));
    let goals = [
        Row::instructions(WHAT, "tokio acquire", slot(), acquire()).at_most(0.20),
        Row::time(WHAT, "two locked instructions", slot(), floor()).at_most(1.15),
        Row::instructions(owned, "tokio acquire_owned", slot_owned(), acquire_owned()).at_most(0.35),
        Row::time(WHAT, "tokio acquire", slot(), acquire()).headline("Take a slot and release it, without waiters"),
        Row::time(owned, "tokio acquire_owned", slot_owned(), acquire_owned()),
    ];
    Goal::new("uncontended", goals.into_iter().chain(instructions).chain(times).collect::<Vec<_>>())
}

const WHAT: &str = "slot + drop";

/// The name of a scene of two locked instructions.
pub const FLOOR: &str = "uncontended/two locked instructions";

/// The pair with two locked instructions as its peer, which is timed with every goal.
pub(crate) fn locked() -> (Scene, Scene) {
    (slot(), floor())
}

/// Takes and drops one of our slots. Other goals compare their scenes with this one.
pub(crate) fn slot() -> Scene {
    Scene::new("uncontended/slot", |operations, meter| {
        let bulkhead = bulkhead(CAPACITY);
        take(operations, meter, || bulkhead.slot());
    })
}

/// The least that the processor allows: the exchange that takes a slot and the addition that gives
/// it back, in place, with the orderings of the front. The value before the addition is returned,
/// because the front uses it. The assertion fails if an exchange did not take place.
pub(crate) fn floor() -> Scene {
    const FREE: u64 = 1;
    Scene::new(FLOOR, |operations, meter| {
        let word = AtomicU64::new(FREE);
        repeat(operations, meter, || {
            let _ = word.compare_exchange(FREE, 0, Acquire, Relaxed);
            word.fetch_add(FREE, Release)
        });
        assert_eq!(word.into_inner(), FREE);
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
        take(operations, meter, || bulkhead.owned().slot());
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
