//! *cancel*: one waiter is dropped while many others wait.

use tokio::sync::Semaphore;

use crate::goal::{Figure, Goal, Limit, Row};
use crate::peers::bulkhead;
use crate::scene::{Pace, Scene};
use crate::work::cancel;

/// So few that the queue is about as long afterwards, even with those of the warm-up.
const OPERATIONS: usize = 100;

pub(crate) fn goal() -> Goal {
    let (middle, head) = ((100_000, 50_000), (100_000, 0));
    let lengths = Figure::Spread(vec![ours(middle), ours((10_000, 5_000))]);
    let what = "one of 100,000 waiting, from the middle";
    let rows = [
        Row::new(what, "our own with 10,000 waiting", lengths).at_most(1.02),
        Row::instructions(what, "tokio Acquire", ours(middle), tokio(middle)).limit(Limit::Ours(190.0)),
        // By the general path: whether another waiter can be admitted then depends on the head.
        Row::instructions("one of 100,000 waiting, from the head", "tokio Acquire", ours(head), tokio(head)),
    ];
    Goal::new("cancel", rows)
}

fn ours((waiting, first): (usize, usize)) -> Scene {
    let scene = Scene::new(format!("cancel/slot {first} of {waiting}"), move |operations, meter| {
        let bulkhead = bulkhead(1);
        cancel((waiting, first), operations, meter, || bulkhead.slot());
    });
    scene.pace(Pace::Fixed(OPERATIONS))
}

fn tokio((waiting, first): (usize, usize)) -> Scene {
    let scene = Scene::new(format!("cancel/tokio acquire {first} of {waiting}"), move |operations, meter| {
        let semaphore = Semaphore::new(1);
        cancel((waiting, first), operations, meter, || semaphore.acquire());
    });
    scene.pace(Pace::Fixed(OPERATIONS))
}
