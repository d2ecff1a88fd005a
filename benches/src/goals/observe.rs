//! *observe*: the machinery of events costs nothing where nobody observes, be it never or no more.

use std::sync::Arc;

use bulklink_tokio::{Event, EventHandler};

use super::uncontended::{self, CAPACITY};
use crate::goal::{Goal, Limit, Row};
use crate::peers::bulkhead;
use crate::scene::Scene;
use crate::work::take;

pub(crate) fn goal() -> Goal {
    let what = "slot + drop after a handler came and went, instructions more";
    let row = Row::instructions(what, "our own, never observed", observed_before(), uncontended::slot());
    Goal { id: "observe", rows: vec![row.limit(Limit::More(0.0))] }
}

fn observed_before() -> Scene {
    Scene::new("observe/slot", |operations, meter| {
        let bulkhead = bulkhead(CAPACITY);
        let handler: EventHandler = Arc::new(|_: &Event| {});
        assert!(bulkhead.add_event_handler(&handler) && bulkhead.remove_event_handler(&handler));
        take(operations, meter, || bulkhead.slot());
    })
}
