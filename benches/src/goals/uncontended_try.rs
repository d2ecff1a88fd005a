//! *uncontended-try*: the same for calls that would rather fail than wait.

use tokio::sync::Semaphore;

use super::uncontended::CAPACITY;
use crate::goal::{Goal, Row};
use crate::peers::{Answer, bulkhead};
use crate::scene::Scene;
use crate::work::repeat;

pub(crate) fn goal() -> Goal {
    let what = "try_slot + drop";
    let rows = [
        Row::instructions(what, "tokio try_acquire", try_slot(), try_acquire()).at_most(0.45),
        Row::time(what, "tokio try_acquire", try_slot(), try_acquire()).at_most(0.70),
        Row::time(what, "async-lock", try_slot(), async_lock()),
        Row::time(what, "asyncband", try_slot(), asyncband()),
        Row::time(what, "throttle-net", try_slot(), throttle_net()),
    ];
    Goal::new("uncontended-try", rows)
}

/// Takes and drops one of our slots. Other goals compare their scenes with this one.
pub(crate) fn try_slot() -> Scene {
    Scene::new("uncontended-try/try_slot", |operations, meter| {
        let bulkhead = bulkhead(CAPACITY);
        repeat(operations, meter, || bulkhead.try_slot().permit());
    })
}

fn try_acquire() -> Scene {
    Scene::new("uncontended-try/tokio try_acquire", |operations, meter| {
        let semaphore = Semaphore::new(CAPACITY);
        repeat(operations, meter, || semaphore.try_acquire().permit());
    })
}

fn async_lock() -> Scene {
    Scene::new("uncontended-try/async-lock try_acquire", |operations, meter| {
        let semaphore = async_lock::Semaphore::new(CAPACITY);
        repeat(operations, meter, || semaphore.try_acquire().permit());
    })
}

fn asyncband() -> Scene {
    Scene::new("uncontended-try/asyncband try_acquire", |operations, meter| {
        let semaphore = asyncband::semaphore::Semaphore::new(CAPACITY);
        repeat(operations, meter, || semaphore.try_acquire(1).permit());
    })
}

fn throttle_net() -> Scene {
    Scene::new("uncontended-try/throttle-net try_acquire", |operations, meter| {
        let bulkhead = throttle_net::Bulkhead::new(10);
        repeat(operations, meter, || bulkhead.try_acquire().permit());
    })
}
