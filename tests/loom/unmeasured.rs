//! Waits that are not measured: slots move without the time.

use std::collections::BTreeSet;
use std::time::Duration;

use bulklink::Request;
use loom::thread;

use crate::call::Call;
use crate::model::model;

#[test]
fn a_new_call_gets_the_slot_or_is_woken() {
    let queued = model(1, 1).unmeasured().explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let release = thread::spawn(move || drop(held));
        let mut call = Call::new(bulkhead);
        let found = call.poll();
        release.join().unwrap();
        match found {
            std::task::Poll::Ready(slot) => drop(slot.unwrap()),
            std::task::Poll::Pending => drop(call.granted()),
        }
        bulkhead.status().totals.queued
    });
    assert_eq!(queued, BTreeSet::from([0, 1]));
}

#[test]
fn a_dropped_call_passes_its_granted_slot_on() {
    let abandoned = model(1, 2).unmeasured().explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let [first, second] = Call::queue(bulkhead);
        let leave = thread::spawn(move || drop(first));
        drop(held);
        leave.join().unwrap();
        drop(second.granted());
        let totals = bulkhead.status().totals;
        assert_eq!(totals.cancelled + totals.abandoned, 1);
        totals.abandoned
    });
    assert_eq!(abandoned, BTreeSet::from([0, 1]));
}

/// A release that began without the time must read it after a waiter with a limit has arrived.
#[test]
fn a_limit_that_arrives_while_a_slot_is_released_applies() {
    let served = model(1, 2).unmeasured().explore_in_time(|bulkhead, clock| {
        let held = bulkhead.owned().try_slot().unwrap();
        let unlimited = Call::new(bulkhead).queued();
        let release = thread::spawn(move || drop(held));
        let mut limited = Call::with(bulkhead, Request::new().within(Duration::from_nanos(10)));
        assert!(limited.poll().is_pending(), "a waiter is ahead");
        clock.set(10);
        release.join().unwrap();
        drop(unlimited.granted());
        let served = limited.wakes();
        let std::task::Poll::Ready(answer) = limited.poll() else { panic!("its deadline has passed") };
        assert!(answer.is_err(), "granted after its deadline");
        served
    });
    assert_eq!(served, BTreeSet::from([1]));
}
