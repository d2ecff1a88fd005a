//! *observe*: the machinery of events costs nothing where nobody observes, be it never or no more.
//!
//! Shown twice, because neither says it alone: what a handler leaves behind when it goes, and what is spent in functions that have
//! to do with events, which leaves out what was inlined into others.

use std::sync::Arc;

use bulklink_tokio::{Event, EventHandler};

use super::uncontended::{self, CAPACITY};
use crate::goal::{Figure, Goal, Limit, Row};
use crate::peers::bulkhead;
use crate::scene::Scene;
use crate::work::take;

pub(crate) fn goal() -> Goal {
    let what = "slot + drop after a handler came and went, instructions more";
    let after = Row::instructions(what, "our own, never observed", observed_before(), uncontended::slot());
    let within = Figure::Within(uncontended::slot(), EVENTS);
    let within = Row::new("slot + drop, never observed: spent in functions of events", "nobody", within);
    Goal { id: "observe", rows: vec![after.limit(Limit::More(0.0)), within.limit(Limit::Ours(0.0))] }
}

const EVENTS: &[&str] = &["event", "handler", "observe", "outputs"];

fn observed_before() -> Scene {
    Scene::new("observe/slot", |operations, meter| {
        let bulkhead = bulkhead(CAPACITY);
        let handler: EventHandler = Arc::new(|_: &Event| {});
        assert!(bulkhead.add_event_handler(&handler) && bulkhead.remove_event_handler(&handler));
        take(operations, meter, || bulkhead.slot());
    })
}
