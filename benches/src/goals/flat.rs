//! *flat*: a hand-off costs the same for any number of waiters.

use crate::goal::{Figure, Goal, Row};
use crate::peers::bulkhead;
use crate::scene::Scene;
use crate::work::cycle;

pub(crate) fn goal() -> Goal {
    let lengths = [10, 1_000, 100_000, 1_000_000].map(hand_off).into();
    let row =
        Row::new("one hand-off with 10 … 1,000,000 waiting: the most", "our own, the least", Figure::Spread(lengths));
    Goal::new("flat", [row.at_most(1.10)])
}

/// Releases, grants, polls and queues again.
pub(crate) fn hand_off(waiting: usize) -> Scene {
    Scene::new(format!("flat/hand-off with {waiting} waiting"), move |operations, meter| {
        let bulkhead = bulkhead(1);
        cycle(waiting, operations, meter, || bulkhead.slot());
    })
}
