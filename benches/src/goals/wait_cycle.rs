//! *wait-cycle*: one permit, its holder and one waiter, without an executor: release, grant, poll,
//! queue again.
//!
//! Judged are instructions, which no machine changes, and the time beside the code that the
//! bulkhead replaces. The other rows show tokio's time: tokio measures no waits, so where ours
//! reads a clock, its cycle reads that clock twice, as often as ours does.

use std::time::Instant;

use tokio::sync::Semaphore;

use super::flat;
use crate::goal::{Figure, Goal, Limit, Row};
use crate::hand_made::{self, HandMade};
use crate::scene::Scene;
use crate::work::{cycle, read_twice};

pub(crate) fn goal() -> Goal {
    let [none, tsc, std] = ["no clock", "TSC", "std clock"].map(|clock| format!("{WHAT}: {clock}"));
    let rows = [
        Row::instructions(&none, "tokio acquire", unmeasured_waits(), acquire(1)).limit(Limit::Ours(1_190.0)),
        Row::new(&none, "tokio acquire", Figure::Locked(unmeasured_waits(), acquire(1))).limit(Limit::Ours(7.0)),
        Row::time(&std, hand_made::NAME, flat::hand_off(1), by_hand()).at_most(0.95),
        Row::time(&none, "tokio acquire", unmeasured_waits(), acquire(1)),
        Row::time(&tsc, "tokio acquire + 2 readings of the TSC", measured_by_tsc(), acquire_and_read_tsc()),
        Row::time(&std, "tokio acquire + 2 Instant::now()", flat::hand_off(1), acquire_and_read_std_clock()),
    ];
    Goal::new("wait-cycle", rows)
}

const WHAT: &str = "release, grant, poll, queue again";

fn by_hand() -> Scene {
    Scene::new("wait-cycle/by hand", |operations, meter| {
        let hand_made = HandMade::new(1, None);
        cycle(1, operations, meter, || hand_made.acquire());
    })
}

pub(crate) fn acquire(waiting: usize) -> Scene {
    Scene::new("wait-cycle/tokio acquire", move |operations, meter| {
        let semaphore = Semaphore::new(1);
        cycle(waiting, operations, meter, || semaphore.acquire());
    })
}

fn acquire_and_read_std_clock() -> Scene {
    acquire_and_read("wait-cycle/tokio acquire + std clock", Instant::now)
}

/// Reads the bare counter. Ours also converts the reading to a time.
fn acquire_and_read_tsc() -> Scene {
    let clock = quanta::Clock::new();
    acquire_and_read("wait-cycle/tokio acquire + TSC", move || clock.raw())
}

fn acquire_and_read<T>(name: &str, read: impl Fn() -> T + 'static) -> Scene {
    Scene::new(name, move |operations, meter| {
        let semaphore = Semaphore::new(1);
        cycle(1, operations, meter, || {
            read_twice(&read);
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

fn measured_by_tsc() -> Scene {
    Scene::new("wait-cycle/TSC", |operations, meter| {
        let builder = bulklink_tokio::tsc::Bulkhead::builder("bench");
        let bulkhead = builder.parallelism(1).waiting_room(2).build().expect("these are valid limits");
        cycle(1, operations, meter, || bulkhead.slot());
    })
}
