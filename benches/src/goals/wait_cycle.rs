//! *wait-cycle*: one permit and two who take turns, without an executor: release, grant, poll, queue again. The three rows
//! differ in the clock that measures our waits; the peer measures none.

use tokio::sync::Semaphore;

use crate::goal::{Goal, Row};
use crate::peers::bulkhead;
use crate::scene::Scene;
use crate::work::cycle;

pub(crate) fn goal() -> Goal {
    let rows = vec![
        row("no clock", unmeasured_waits()).at_most(0.60),
        row("TSC", tsc()).at_most(0.80),
        row("std clock", std_clock()).at_most(1.25),
    ];
    Goal { id: "wait-cycle", rows }
}

fn row(clock: &str, ours: Scene) -> Row {
    Row::time(format!("release, grant, poll, queue again: {clock}"), "tokio acquire", ours, acquire())
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
