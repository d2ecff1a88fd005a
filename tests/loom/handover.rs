//! A waiter is granted a slot while it is dropped.

use std::collections::BTreeSet;

use loom::thread;

use crate::call::Call;
use crate::model::{cancelled_and_abandoned, model};

const EITHER: [(u64, u64); 2] = [(0, 1), (1, 0)];

#[test]
fn a_slot_granted_to_a_dropped_call_is_not_lost() {
    let outcomes = model(1, 1).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let call = Call::new(bulkhead).queued();
        let release = thread::spawn(move || drop(held));
        drop(call);
        release.join().unwrap();
        cancelled_and_abandoned(bulkhead)
    });
    assert_eq!(outcomes, BTreeSet::from(EITHER));
}

#[test]
fn the_next_waiter_gets_a_dropped_calls_slot() {
    let outcomes = model(1, 2).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let [first, second] = Call::queue(bulkhead);
        let release = thread::spawn(move || drop(held));
        drop(first);
        release.join().unwrap();
        drop(second.granted());
        cancelled_and_abandoned(bulkhead)
    });
    assert_eq!(outcomes, BTreeSet::from(EITHER));
}

#[test]
fn a_new_call_is_admitted_behind_a_dropped_waiter() {
    let outcomes = model(1, 2).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let first = Call::new(bulkhead).queued();
        let release = thread::spawn(move || drop(held));
        let leave = thread::spawn(move || drop(first));
        let mut new_call = Call::new(bulkhead);
        let is_admitted = new_call.poll().is_ready();
        release.join().unwrap();
        leave.join().unwrap();
        if !is_admitted {
            drop(new_call.granted());
        }
        (cancelled_and_abandoned(bulkhead), is_admitted)
    });
    let both_ways = EITHER.into_iter().flat_map(|counts| [(counts, false), (counts, true)]);
    assert_eq!(outcomes, both_ways.collect());
}
