//! A slot is released while a new call arrives.

use std::collections::BTreeSet;

use bulklink::{Reason, Request};
use loom::future::block_on;
use loom::thread;

use crate::call::Call;
use crate::model::{model, on_a_thread};

#[test]
fn a_new_call_gets_the_slot_or_is_woken() {
    let queued = model(1, 1).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let release = thread::spawn(move || drop(held));
        drop(block_on(bulkhead.slot()).unwrap());
        release.join().unwrap();
        bulkhead.status().totals.queued
    });
    assert_eq!(queued, BTreeSet::from([0, 1]));
}

#[test]
fn two_callers_share_one_slot_one_after_the_other() {
    let queued = model(1, 1).preemptions_if_fast(3).explore(|bulkhead| {
        let other = on_a_thread(bulkhead, |bulkhead| block_on(bulkhead.execute(async {})).unwrap());
        block_on(bulkhead.execute(async {})).unwrap();
        other.join().unwrap();
        let status = bulkhead.status();
        assert_eq!((status.peak_in_flight, status.totals.finished), (1, 2));
        status.totals.queued
    });
    assert_eq!(queued, BTreeSet::from([0, 1]));
}

#[test]
fn three_callers_share_one_slot_one_after_the_other() {
    // Three tasks that park and wake are too many for a complete search: 3 preemptions need 5000
    // executions, 5 need 264 000.
    let queued = model(1, 2).preemptions(3).preemptions_if_fast(1).explore(|bulkhead| {
        let others = [(); 2].map(|()| {
            let bulkhead = bulkhead.clone();
            thread::spawn(move || block_on(bulkhead.execute(async {})).unwrap())
        });
        block_on(bulkhead.execute(async {})).unwrap();
        for other in others {
            other.join().unwrap();
        }
        let status = bulkhead.status();
        assert_eq!((status.peak_in_flight, status.totals.finished), (1, 3));
        status.totals.queued
    });
    assert_eq!(queued, BTreeSet::from([0, 1, 2]));
}

#[test]
fn try_slot_does_not_overtake_a_waiter() {
    model(1, 1).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let first = Call::new(bulkhead).queued();
        let release = thread::spawn(move || drop(held));
        assert_eq!(bulkhead.try_slot().unwrap_err().reason(), Reason::Saturated);
        release.join().unwrap();
        drop(first.granted());
    });
}

#[test]
fn a_new_call_queues_behind_a_waiter() {
    model(1, 2).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let first = Call::new(bulkhead).queued();
        let release = thread::spawn(move || drop(held));
        let second = Call::new(bulkhead).queued();
        release.join().unwrap();
        let slot = first.granted();
        assert_eq!(second.wakes(), 0, "the first call still holds the slot");
        drop(slot);
        drop(second.granted());
    });
}

#[test]
fn a_small_new_call_does_not_overtake_a_large_waiter() {
    model(2, 1).explore(|bulkhead| {
        let (one, other) = (bulkhead.owned().try_slot().unwrap(), bulkhead.owned().try_slot().unwrap());
        let large = Call::with(bulkhead, Request::new().cost(2)).queued();
        let release = thread::spawn(move || {
            drop(one);
            drop(other);
        });
        assert_eq!(bulkhead.try_slot().unwrap_err().reason(), Reason::Saturated);
        release.join().unwrap();
        drop(large.granted());
        assert_eq!(bulkhead.status().peak_in_use, 2, "the large call was admitted before two units were free");
    });
}
