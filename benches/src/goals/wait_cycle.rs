//! *wait-cycle*: one permit, its holder and one waiter, without an executor: release, grant, poll,
//! queue again.
//!
//! The rows differ in the clock that measures our waits. Tokio measures none, so in the rows with a
//! clock its cycle reads that clock twice, as often as ours does.

use std::hint::black_box;
use std::time::Instant;

use tokio::sync::Semaphore;

use crate::goal::{Goal, Row};
use crate::peers::bulkhead;
use crate::scene::Scene;
use crate::work::cycle;

pub(crate) fn goal() -> Goal {
    let rows = [
        row("no clock", "tokio acquire", unmeasured_waits(), acquire()).at_most(1.05),
        row("TSC", "tokio acquire + 2 readings of the TSC", tsc(), acquire_and_read_tsc()).at_most(1.0),
        row("std clock", "tokio acquire + 2 Instant::now()", std_clock(), acquire_and_read_std_clock()).at_most(1.0),
    ];
    Goal::new("wait-cycle", rows)
}

fn row(clock: &str, peer: &'static str, ours: Scene, theirs: Scene) -> Row {
    Row::time(format!("release, grant, poll, queue again: {clock}"), peer, ours, theirs)
}

fn std_clock() -> Scene {
    Scene::new("wait-cycle/std clock", |operations, meter| {
        let bulkhead = bulkhead(1);
        cycle(1, operations, meter, || bulkhead.slot());
    })
}

fn acquire() -> Scene {
    Scene::new("wait-cycle/tokio acquire", |operations, meter| {
        let semaphore = Semaphore::new(1);
        cycle(1, operations, meter, || semaphore.acquire());
    })
}

fn acquire_and_read_std_clock() -> Scene {
    acquire_and_read_twice("wait-cycle/tokio acquire + std clock", Instant::now)
}

/// Reads the bare counter. Ours also converts the reading to a time.
fn acquire_and_read_tsc() -> Scene {
    let clock = quanta::Clock::new();
    acquire_and_read_twice("wait-cycle/tokio acquire + TSC", move || clock.raw())
}

/// Each cycle of the work makes one future, so both readings are in it.
fn acquire_and_read_twice<T>(name: &str, read: impl Fn() -> T + 'static) -> Scene {
    Scene::new(name, move |operations, meter| {
        let semaphore = Semaphore::new(1);
        cycle(1, operations, meter, || {
            black_box((read(), read()));
            semaphore.acquire()
        });
    })
}

fn unmeasured_waits() -> Scene {
    Scene::new("wait-cycle/no clock", |operations, meter| {
        let builder = bulklink_tokio::Bulkhead::builder("bench").parallelism(1).waiting_room(2);
        let bulkhead = builder.measure_waits(false).build().expect("these are valid limits");
        cycle(1, operations, meter, || bulkhead.slot());
    })
}

fn tsc() -> Scene {
    Scene::new("wait-cycle/TSC", |operations, meter| {
        let builder = bulklink_tokio::tsc::Bulkhead::builder("bench");
        let bulkhead = builder.parallelism(1).waiting_room(2).build().expect("these are valid limits");
        cycle(1, operations, meter, || bulkhead.slot());
    })
}
