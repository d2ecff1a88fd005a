//! The capacity and the other limits change while slots are released and acquired.

use std::collections::BTreeSet;
use std::task::Poll;

use loom::future::block_on;
use loom::thread;

use crate::call::Call;
use crate::model::{check_identities, model, on_a_thread};

#[test]
fn growing_and_releasing_each_admit_one_waiter() {
    model(1, 2).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let [first, second] = Call::queue(bulkhead);
        let release = thread::spawn(move || drop(held));
        let resized = bulkhead.resize(2).unwrap();
        release.join().unwrap();
        assert_eq!((resized.previous, resized.admitted), (1, 1));
        let both = (first.granted(), second.granted());
        assert_eq!(bulkhead.status().free(), 0);
        drop(both);
    });
}

#[test]
fn a_new_call_gets_the_added_slot_or_is_woken() {
    let admitted = model(1, 1).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let grow = on_a_thread(bulkhead, |bulkhead| bulkhead.resize(2).unwrap().admitted);
        drop(block_on(bulkhead.slot()).unwrap());
        drop(held);
        grow.join().unwrap()
    });
    assert_eq!(admitted, BTreeSet::from([0, 1]));
}

#[test]
fn a_slot_released_while_shrinking_is_passed_on_or_removed() {
    let passed_on = model(2, 1).explore(|bulkhead| {
        let (one, other) = (bulkhead.owned().try_slot().unwrap(), bulkhead.owned().try_slot().unwrap());
        let call = Call::new(bulkhead).queued();
        let release = thread::spawn(move || drop(one));
        bulkhead.resize(1).unwrap();
        release.join().unwrap();
        let status = bulkhead.status();
        check_identities(&status);
        let passed_on = status.totals.admitted_from_queue == 1;
        assert_eq!(call.wakes(), usize::from(passed_on));
        assert_eq!((status.capacity_excess(), status.waiting), if passed_on { (1, 0) } else { (0, 1) });
        drop(other);
        drop(call.granted());
        passed_on
    });
    assert_eq!(passed_on, BTreeSet::from([false, true]));
}

#[test]
fn two_resizes_end_with_one_of_their_capacities() {
    let capacities = model(2, 1).explore(|bulkhead| {
        let (one, other) = (bulkhead.owned().try_slot().unwrap(), bulkhead.owned().try_slot().unwrap());
        let call = Call::new(bulkhead).queued();
        let shrink = on_a_thread(bulkhead, |bulkhead| bulkhead.resize(1).unwrap().admitted);
        let admitted = bulkhead.resize(3).unwrap().admitted;
        assert_eq!((admitted, shrink.join().unwrap()), (1, 0));
        drop((one, other, call.granted()));
        bulkhead.status().limits.capacity
    });
    assert_eq!(capacities, BTreeSet::from([1, 3]));
}

/// The word rejects calls while there is no waiting room, and offers a slot in between.
#[test]
fn a_call_that_meets_a_larger_room_is_rejected_or_waits() {
    let outcomes = model(1, 0).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let grow = on_a_thread(bulkhead, |bulkhead| {
            bulkhead.reconfigure(bulkhead.limits().with_waiting_room(1)).unwrap();
        });
        let mut call = Call::new(bulkhead);
        let rejected = match call.poll() {
            Poll::Ready(answer) => {
                assert_eq!(answer.unwrap_err().occupancy().waiting_room(), 0);
                true
            }
            Poll::Pending => false,
        };
        grow.join().unwrap();
        drop(held);
        if !rejected {
            drop(call.granted());
        }
        assert_eq!(bulkhead.status().totals.saturated, u64::from(rejected));
        rejected
    });
    assert_eq!(outcomes, BTreeSet::from([false, true]));
}

#[test]
fn a_call_that_meets_a_smaller_room_waits_or_is_rejected() {
    let outcomes = model(1, 1).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let shrink = on_a_thread(bulkhead, |bulkhead| {
            bulkhead.reconfigure(bulkhead.limits().with_waiting_room(0)).unwrap();
        });
        let mut call = Call::new(bulkhead);
        let waits = call.poll().is_pending();
        shrink.join().unwrap();
        assert!(bulkhead.try_slot().is_err());
        drop(held);
        if waits {
            drop(call.granted());
        }
        waits
    });
    assert_eq!(outcomes, BTreeSet::from([false, true]));
}
