//! *observe*: events cost nothing before the first handler and after the last, and little with one.
//! For information, the cost of measured holds. The rows about figures that an exporter reads are
//! in `figures`.
//!
//! Two rows show the cost without a handler, because neither shows all of it. One counts the extra
//! instructions after a handler was added and removed. The other counts the instructions in
//! functions for events, which leaves out those inlined into other functions.

use std::alloc::System;
use std::hint::black_box;

use bulklink_tokio::{Bulkhead, EventFilter, HandlerId};
use stats_alloc::{Region, StatsAlloc};

use super::figures;
use super::uncontended::{self, CAPACITY};
use crate::goal::{Figure, Goal, Limit, NO_PEER, Row};
use crate::measure::float;
use crate::peers::bulkhead;
use crate::scene::Scene;
use crate::work::{now, take};

pub(crate) fn goal() -> Goal {
    let what = "slot + drop after a handler came and went, instructions more";
    let after = Row::instructions(what, "our own, never observed", observed_before(), uncontended::slot());
    let beside = "slot + drop beside a handler of rejections and waits, instructions more";
    let beside = Row::instructions(beside, "our own, never observed", beside_a_filter(), uncontended::slot());
    let within = Figure::Within(uncontended::slot(), EVENTS);
    let within = Row::new("slot + drop, never observed: spent in functions of events", NO_PEER, within);
    let observed = "slot + drop, observed by one handler";
    let time = Row::time(observed, "tokio acquire", while_observed(), uncontended::acquire()).at_most(3.5);
    let allocations = Figure::Memory(OBSERVED.to_owned(), None, "allocations");
    let allocations = Row::new(observed, NO_PEER, allocations).limit(Limit::Ours(0.0));
    let unmeasured = "our own, without";
    let holds = figures::measured_holds();
    let holds = Row::time("slot + drop, holds measured", unmeasured, holds, uncontended::slot());
    let events = [
        after.limit(Limit::More(0.0)),
        beside.limit(Limit::More(0.0)),
        within.limit(Limit::Ours(0.0)),
        time,
        allocations,
        holds,
    ];
    Goal::new("observe", events.into_iter().chain(figures::rows()).collect::<Vec<_>>())
}

const EVENTS: &[&str] = &["event", "handler", "observe", "outputs"];

/// The name of a reading of allocations.
const OBSERVED: &str = "slot + drop, observed: allocations";

fn observe(bulkhead: &Bulkhead) -> HandlerId {
    bulkhead.handle().add_event_handler(EventFilter::ALL, |event| _ = black_box(event.number))
}

fn beside_a_filter() -> Scene {
    Scene::new("observe/slot, rejections and waits observed", |operations, meter| {
        let bulkhead = bulkhead(CAPACITY);
        let filter = EventFilter::REJECTIONS.or(EventFilter::WAITS);
        bulkhead.handle().add_event_handler(filter, |event| _ = black_box(event.number));
        take(operations, meter, || bulkhead.slot());
    })
}

fn while_observed() -> Scene {
    Scene::new("observe/slot, observed", |operations, meter| {
        let bulkhead = bulkhead(CAPACITY);
        observe(&bulkhead);
        take(operations, meter, || bulkhead.slot());
    })
}

/// Returns the allocations of one operation with two events, after a first operation has allocated
/// what later ones reuse.
pub(crate) fn read(heap: &StatsAlloc<System>) -> impl Iterator<Item = (String, f64)> {
    const OPERATIONS: u32 = 1_000;
    let bulkhead = bulkhead(CAPACITY);
    observe(&bulkhead);
    drop(now(|| bulkhead.slot()));
    let region = Region::new(heap);
    for _ in 0..OPERATIONS {
        drop(now(|| bulkhead.slot()));
    }
    let change = region.change();
    let allocations = float((change.allocations + change.reallocations) as u128);
    [(OBSERVED.to_owned(), allocations / f64::from(OPERATIONS))].into_iter().chain(figures::read(heap))
}

fn observed_before() -> Scene {
    Scene::new("observe/slot", |operations, meter| {
        let bulkhead = bulkhead(CAPACITY);
        assert!(bulkhead.handle().remove_event_handler(observe(&bulkhead)));
        take(operations, meter, || bulkhead.slot());
    })
}
