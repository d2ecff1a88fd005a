//! *hand-off*: a thousand tasks on one thread of tokio's share ten permits. Each acquires, yields
//! while it holds the permit, and releases, again and again. Both figures include the cost of the
//! tasks themselves.

use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::goal::{Goal, Limit, Row};
use crate::hand_made::{self, HandMade};
use crate::peers::{LONG, bulkhead, limited};
use crate::scene::{Meter, Pace, Scene};
use crate::work::{read_twice, tasks};

/// The number of permits.
const LIMIT: usize = 10;
/// The operations of all tasks together.
pub(crate) const OPERATIONS: usize = 20_000;

pub(crate) fn goal() -> Goal {
    let (exact, limit) = ("1,000 tasks, limit 10: exact waits", "1,000 tasks, limit 10: with a wait limit");
    let rows = [
        Row::instructions(exact, "tokio acquire", slot(1_000), acquire(1_000)).limit(Limit::Ours(2_450.0)),
        Row::instructions(limit, "tokio timeout(acquire)", with_limit(), with_timeout()).at_most(1.15),
        // Ours reads the clock twice for each wait.
        Row::time(exact, "tokio acquire + 2 Instant::now()", slot(1_000), acquire_and_read()).at_most(1.25),
        Row::time(exact, hand_made::NAME, slot(1_000), by_hand(None)).at_most(0.90),
        Row::time(limit, hand_made::NAME_WITH_LIMIT, with_limit(), by_hand(Some(LONG))).at_most(0.90),
        Row::time(exact, "tokio acquire", slot(1_000), acquire(1_000)),
        Row::time(limit, "tokio timeout(acquire)", with_limit(), with_timeout())
            .headline("1,000 tasks share 10 slots, with a wait limit: one turn"),
        Row::time(exact, "async-lock", slot(1_000), async_lock(1_000)),
        Row::time(exact, "asyncband", slot(1_000), asyncband(1_000)),
        Row::time(exact, "throttle-net", slot(1_000), throttle_net(1_000)),
    ];
    Goal::new("hand-off", rows)
}

fn scene(name: &str, body: impl Fn(usize, Meter<'_>) + 'static) -> Scene {
    Scene::new(format!("hand-off/{name}"), body).pace(Pace::Fixed(OPERATIONS))
}

/// Gives tasks a static reference. A few kilobytes of leak per round are better than a reference
/// count in the measured code.
fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

pub(crate) fn slot(number: usize) -> Scene {
    scene("slot", move |operations, meter| {
        let bulkhead = leak(bulkhead(LIMIT));
        tasks(number, operations, meter, || bulkhead.slot());
    })
}

pub(crate) fn acquire(number: usize) -> Scene {
    scene("tokio acquire", move |operations, meter| {
        let semaphore = leak(Semaphore::new(LIMIT));
        tasks(number, operations, meter, || semaphore.acquire());
    })
}

fn acquire_and_read() -> Scene {
    scene("tokio acquire + std clock", |operations, meter| {
        let semaphore = leak(Semaphore::new(LIMIT));
        tasks(1_000, operations, meter, || {
            read_twice(Instant::now);
            semaphore.acquire()
        });
    })
}

fn by_hand(limit: Option<Duration>) -> Scene {
    scene(if limit.is_some() { "by hand with a wait limit" } else { "by hand" }, move |operations, meter| {
        let hand_made = leak(HandMade::new(LIMIT, limit));
        tasks(1_000, operations, meter, || hand_made.acquire());
    })
}

fn with_limit() -> Scene {
    scene("slot with a wait limit", |operations, meter| {
        let bulkhead = leak(limited(LIMIT, LONG));
        tasks(1_000, operations, meter, || bulkhead.slot());
    })
}

fn with_timeout() -> Scene {
    scene("tokio timeout(acquire)", |operations, meter| {
        let semaphore = leak(Semaphore::new(LIMIT));
        tasks(1_000, operations, meter, || timeout(LONG, semaphore.acquire()));
    })
}

pub(crate) fn async_lock(number: usize) -> Scene {
    scene("async-lock acquire", move |operations, meter| {
        let semaphore = leak(async_lock::Semaphore::new(LIMIT));
        tasks(number, operations, meter, || semaphore.acquire());
    })
}

pub(crate) fn asyncband(number: usize) -> Scene {
    scene("asyncband acquire", move |operations, meter| {
        let semaphore = leak(asyncband::semaphore::Semaphore::new(LIMIT));
        tasks(number, operations, meter, || semaphore.acquire(1));
    })
}

fn throttle_net(number: usize) -> Scene {
    scene("throttle-net acquire", move |operations, meter| {
        let bulkhead = leak(throttle_net::Bulkhead::new(10));
        tasks(number, operations, meter, || bulkhead.acquire());
    })
}
