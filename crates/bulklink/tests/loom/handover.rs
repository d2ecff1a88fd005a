//! A waiter is granted a slot while it is dropped.

use std::collections::BTreeSet;

use loom::thread;

use crate::call::Call;
use crate::model::{Front, model};

/// Returns how many waiters were cancelled, and how many were abandoned.
fn withdrawn(bulkhead: &Front) -> (u64, u64) {
    let totals = bulkhead.status().totals;
    (totals.cancelled, totals.abandoned)
}

const EITHER: [(u64, u64); 2] = [(0, 1), (1, 0)];

#[test]
fn a_slot_granted_to_a_dropped_call_is_not_lost() {
    let outcomes = model(1, 1).explore(|bulkhead| {
        let held = bulkhead.try_slot_owned().unwrap();
        let call = Call::new(bulkhead).queued();
        let release = thread::spawn(move || drop(held));
        drop(call);
        release.join().unwrap();
        withdrawn(bulkhead)
    });
    assert_eq!(outcomes, BTreeSet::from(EITHER));
}

#[test]
fn the_next_waiter_gets_a_dropped_calls_slot() {
    let outcomes = model(1, 2).explore(|bulkhead| {
        let held = bulkhead.try_slot_owned().unwrap();
        let [first, second] = Call::line(bulkhead);
        let release = thread::spawn(move || drop(held));
        drop(first);
        release.join().unwrap();
        drop(second.granted());
        withdrawn(bulkhead)
    });
    assert_eq!(outcomes, BTreeSet::from(EITHER));
}

#[test]
fn a_new_call_is_admitted_behind_a_dropped_waiter() {
    let outcomes = model(1, 2).explore(|bulkhead| {
        let held = bulkhead.try_slot_owned().unwrap();
        let first = Call::new(bulkhead).queued();
        let release = thread::spawn(move || drop(held));
        let leave = thread::spawn(move || drop(first));
        let mut newcomer = Call::new(bulkhead);
        let at_once = newcomer.poll().is_ready();
        release.join().unwrap();
        leave.join().unwrap();
        if !at_once {
            drop(newcomer.granted());
        }
        (withdrawn(bulkhead), at_once)
    });
    let both_ways = EITHER.into_iter().flat_map(|counts| [(counts, false), (counts, true)]);
    assert_eq!(outcomes, both_ways.collect());
}
