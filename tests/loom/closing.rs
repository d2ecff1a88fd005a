//! The bulkhead closes while calls arrive and leave, and while tasks wait for the drain.

use std::collections::BTreeSet;

use bulklink::Reason;
use loom::future::block_on;
use loom::thread;

use crate::call::{Call, CountingWaker};
use crate::model::{model, on_a_thread};

#[test]
fn a_call_that_arrives_during_the_close_is_rejected() {
    let outcomes = model(1, 1).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let close = on_a_thread(bulkhead, |bulkhead| bulkhead.close());
        assert_eq!(block_on(bulkhead.slot()).unwrap_err().reason(), Reason::Closed);
        assert!(close.join().unwrap());
        drop(held);
        let totals = bulkhead.status().totals;
        (totals.closed_before_queue, totals.closed_while_waiting)
    });
    assert_eq!(outcomes, BTreeSet::from([(0, 1), (1, 0)]));
}

#[test]
fn a_free_slot_is_taken_only_before_the_close() {
    let admitted = model(1, 0).explore(|bulkhead| {
        let close = on_a_thread(bulkhead, |bulkhead| bulkhead.close());
        let taken = bulkhead.try_slot().map(drop).map_err(|rejection| rejection.reason());
        assert!(close.join().unwrap());
        assert_eq!(bulkhead.try_slot().unwrap_err().reason(), Reason::Closed);
        let totals = bulkhead.status().totals;
        assert_eq!(totals.closed(), if taken.is_ok() { 1 } else { 2 });
        assert!(taken.is_ok() || taken == Err(Reason::Closed));
        totals.admitted
    });
    assert_eq!(admitted, BTreeSet::from([0, 1]));
}

#[test]
fn no_slot_is_granted_after_the_close() {
    model(1, 1).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let end = on_a_thread(bulkhead, move |bulkhead| {
            bulkhead.close();
            drop(held);
        });
        assert_eq!(block_on(bulkhead.slot()).unwrap_err().reason(), Reason::Closed);
        end.join().unwrap();
        assert_eq!(bulkhead.status().totals.admitted, 1);
    });
}

#[test]
fn a_waiter_is_granted_the_slot_or_rejected_not_both() {
    let granted = model(1, 1).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let call = Call::new(bulkhead).queued();
        let release = thread::spawn(move || drop(held));
        assert!(bulkhead.close());
        release.join().unwrap();
        let answer = call.answer();
        assert_eq!(bulkhead.status().is_drained(), answer.is_err());
        answer.map(drop).map_err(|reason| assert_eq!(reason, Reason::Closed)).is_ok()
    });
    assert_eq!(granted, BTreeSet::from([false, true]));
}

#[test]
fn only_one_of_two_closes_takes_effect() {
    model(1, 1).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let call = Call::new(bulkhead).queued();
        let close = on_a_thread(bulkhead, |bulkhead| bulkhead.close());
        let (one, other) = (bulkhead.close(), close.join().unwrap());
        assert!(one != other);
        assert_eq!(call.answer().unwrap_err(), Reason::Closed);
        drop(held);
    });
}

#[test]
fn a_task_that_begins_to_wait_sees_the_end() {
    model(1, 0).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let end = on_a_thread(bulkhead, move |bulkhead| {
            bulkhead.close();
            drop(held);
        });
        block_on(bulkhead.handle().closed());
        assert!(bulkhead.status().is_drained());
        end.join().unwrap();
    });
}

#[test]
fn an_idle_bulkhead_is_drained_immediately() {
    model(1, 0).explore(|bulkhead| {
        let close = on_a_thread(bulkhead, |bulkhead| bulkhead.close());
        block_on(bulkhead.handle().closed());
        assert!(close.join().unwrap());
    });
}

#[test]
fn the_drain_ends_with_an_uncollected_slot() {
    let outcomes = model(1, 1).explore(|bulkhead| {
        let (waker, mut closed) = (CountingWaker::default(), bulkhead.handle().closed());
        assert!(waker.poll(&mut closed).is_pending());
        let held = bulkhead.owned().try_slot().unwrap();
        let call = Call::new(bulkhead).queued();
        let release = thread::spawn(move || drop(held));
        bulkhead.close();
        drop(call);
        release.join().unwrap();
        assert_eq!(waker.wakes(), 1);
        assert!(waker.poll(&mut closed).is_ready());
        let totals = bulkhead.status().totals;
        (totals.abandoned, totals.closed_while_waiting)
    });
    assert_eq!(outcomes, BTreeSet::from([(0, 1), (1, 0)]));
}

#[test]
fn the_drain_ends_with_the_last_of_two_slots() {
    model(2, 0).preemptions_if_fast(1).explore(|bulkhead| {
        let (one, other) = (bulkhead.owned().try_slot().unwrap(), bulkhead.owned().try_slot().unwrap());
        let first = thread::spawn(move || drop(one));
        let second = thread::spawn(move || drop(other));
        block_on(bulkhead.close_and_wait());
        assert!(bulkhead.status().is_drained());
        first.join().unwrap();
        second.join().unwrap();
    });
}

#[test]
fn a_dropped_wait_for_the_drain_does_not_affect_another() {
    model(1, 0).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let wakers: [CountingWaker; 3] = Default::default();
        let [mut first, mut leaves, mut last] = [(); 3].map(|()| bulkhead.handle().closed());
        for (waker, closed) in wakers.iter().zip([&mut first, &mut leaves, &mut last]) {
            assert!(waker.poll(closed).is_pending());
        }
        bulkhead.close();
        let end = thread::spawn(move || drop(held));
        drop(leaves);
        end.join().unwrap();
        assert_eq!((wakers[0].wakes(), wakers[2].wakes()), (1, 1));
        assert!(wakers[0].poll(&mut first).is_ready() && wakers[2].poll(&mut last).is_ready());
    });
}
