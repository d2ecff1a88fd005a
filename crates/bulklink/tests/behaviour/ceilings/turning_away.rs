//! Ceilings under which no call waits.

use bulklink::{Reason, Request};

use crate::{bulkhead, call, executor, ms, reason, slot};

/// The ceiling does not bind: the capacity does, and a slot of it is free soon.
#[test]
fn a_ceiling_above_the_capacity_turns_no_call_away() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 5);
    let fleet = bulkhead.handle().ceiling("fleet");
    fleet.set(5);
    fleet.turn_away(true);
    let running = slot(&call(&mut executor, &bulkhead));
    assert_eq!(bulkhead.status().restriction, None);
    let waits = call(&mut executor, &bulkhead);
    assert!(!waits.is_finished(), "{:?}", waits.output());
    drop(running);
}

/// Each way to ask.
#[test]
fn no_way_to_ask_waits_while_calls_are_turned_away() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 10, 5);
    let fleet = bulkhead.handle().ceiling("fleet");
    fleet.set(0);
    fleet.set_fetch(ms(10));
    fleet.turn_away(true);
    assert_eq!(reason(&call(&mut executor, &bulkhead)), Reason::Saturated);
    let run = bulkhead.clone();
    let execute = executor.spawn(async move { run.execute(async { 1 }).await.map_err(|it| it.reason()) });
    executor.run_until_idle();
    assert_eq!(execute.output(), Some(Err(Reason::Saturated)));
    let large = executor.spawn(bulkhead.with(Request::new().cost(11)).slot());
    executor.run_until_idle();
    assert_eq!(large.output().map(|it| it.unwrap_err().reason()), Some(Reason::InvalidCost));
    assert_eq!(bulkhead.status().totals.queued, 0);
    bulkhead.close();
    assert_eq!(reason(&call(&mut executor, &bulkhead)), Reason::Closed);
}

#[test]
fn a_ceiling_that_is_gone_turns_no_call_away() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 5);
    let adaptive = bulkhead.handle().ceiling("adaptive");
    let fleet = bulkhead.handle().ceiling("fleet");
    fleet.set(0);
    fleet.turn_away(true);
    drop(fleet);
    let _running = slot(&call(&mut executor, &bulkhead));
    assert!(!call(&mut executor, &bulkhead).is_finished());
    let mut kept = bulkhead.handle().ceiling("kept");
    kept.set(0);
    kept.turn_away(true);
    kept.keep();
    assert_eq!(reason(&call(&mut executor, &bulkhead)), Reason::Saturated);
    drop((kept, adaptive));
    assert_eq!(reason(&call(&mut executor, &bulkhead)), Reason::Saturated);
}
