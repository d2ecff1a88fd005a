//! *reject*: a rejection that is counted and carries a label and figures is built and dropped. The
//! peer's is a bare enum. Under a ceiling it has the name of the controller too, and takes no lock
//! either.

use tokio::sync::Semaphore;

use crate::goal::{Goal, Row};
use crate::peers::bulkhead;
use crate::scene::Scene;
use crate::work::repeat;

pub(crate) fn goal() -> Goal {
    let what = "try_slot rejected";
    let rows = [
        Row::instructions(what, "tokio try_acquire failing", rejected(), refused()).at_most(2.0),
        Row::instructions("try_slot rejected under a ceiling", "our own without", restricted(), rejected())
            .at_most(2.0),
        Row::time(what, "tokio try_acquire failing", rejected(), refused()).headline("Reject a call: no slot is free"),
    ];
    Goal::new("reject", rows)
}

fn rejected() -> Scene {
    Scene::new("reject/try_slot", |operations, meter| {
        let bulkhead = bulkhead(1);
        let _held = bulkhead.try_slot().expect("there is room for one");
        repeat(operations, meter, || bulkhead.try_slot().expect_err("there is no room"));
    })
}

fn restricted() -> Scene {
    Scene::new("reject/try_slot, under a ceiling", |operations, meter| {
        let bulkhead = bulkhead(2);
        let ceiling = bulkhead.handle().ceiling("bench");
        ceiling.set(1);
        let _held = bulkhead.try_slot().expect("there is room for one");
        repeat(operations, meter, || bulkhead.try_slot().expect_err("there is no room"));
    })
}

fn refused() -> Scene {
    Scene::new("reject/tokio try_acquire", |operations, meter| {
        let semaphore = Semaphore::new(1);
        let _held = semaphore.try_acquire().expect("there is room for one");
        repeat(operations, meter, || semaphore.try_acquire().expect_err("there is no room"));
    })
}
