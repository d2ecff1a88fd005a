//! A blocking thread that goes to sleep misses no slot and no close.

use bulklink::{Reason, Request};

use crate::call::Call;
use crate::model::{model, on_a_thread};

#[test]
fn a_release_wakes_a_thread_that_goes_to_sleep() {
    let outcomes = model(1, 1).explore(|bulkhead| {
        let running = bulkhead.owned().try_slot().unwrap();
        let blocked = on_a_thread(bulkhead, |bulkhead| drop(bulkhead.blocking_slot().expect("there is room to wait")));
        drop(running);
        blocked.join().unwrap();
        bulkhead.status().totals.queued
    });
    assert_eq!(outcomes, [0, 1].into());
}

#[test]
fn closing_wakes_a_thread_that_goes_to_sleep() {
    let outcomes = model(1, 1).explore(|bulkhead| {
        let running = bulkhead.owned().try_slot().unwrap();
        let blocked = on_a_thread(bulkhead, move |bulkhead| {
            bulkhead.owned().blocking_slot().expect_err("the slot is not released").reason()
        });
        bulkhead.close();
        assert_eq!(blocked.join().unwrap(), Reason::Closed);
        drop(running);
        bulkhead.status().totals.closed_while_waiting
    });
    assert_eq!(outcomes, [0, 1].into());
}

/// The waiter ahead is dropped after it was granted the slot.
#[test]
fn a_dropped_waiter_passes_its_slot_to_a_blocking_thread() {
    let outcomes = model(1, 2).explore(|bulkhead| {
        let running = bulkhead.owned().try_slot().unwrap();
        let task = Call::with(bulkhead, Request::new()).queued();
        let blocked = on_a_thread(bulkhead, |bulkhead| drop(bulkhead.blocking_slot().expect("there is room to wait")));
        drop(running);
        drop(task);
        blocked.join().unwrap();
        bulkhead.status().totals.abandoned
    });
    assert_eq!(outcomes, [1].into());
}
