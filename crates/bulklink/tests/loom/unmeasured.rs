//! Waits that nobody measures: slots move without the time.

use std::collections::BTreeSet;
use std::time::Duration;

use bulklink::Request;
use loom::thread;

use crate::call::Call;
use crate::model::model;

#[test]
fn a_newcomer_gets_the_slot_or_is_woken_for_it() {
    let queued = model(1, 1).unmeasured().explore(|bulkhead| {
        let held = bulkhead.try_slot_owned().unwrap();
        let release = thread::spawn(move || drop(held));
        let mut call = Call::new(bulkhead);
        let at_once = call.poll();
        release.join().unwrap();
        match at_once {
            std::task::Poll::Ready(slot) => drop(slot.unwrap()),
            std::task::Poll::Pending => drop(call.granted()),
        }
        bulkhead.status().totals.queued
    });
    assert_eq!(queued, BTreeSet::from([0, 1]));
}

#[test]
fn a_dropped_call_passes_on_what_it_was_handed() {
    let abandoned = model(1, 2).unmeasured().explore(|bulkhead| {
        let held = bulkhead.try_slot_owned().unwrap();
        let [first, second] = Call::line(bulkhead);
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

/// Whether the time is needed changes while a slot is being given back.
#[test]
fn a_limit_that_comes_while_a_slot_is_given_back_is_heeded() {
    let served = model(1, 2).unmeasured().explore_in_time(|bulkhead, clock| {
        let held = bulkhead.try_slot_owned().unwrap();
        let patient = Call::new(bulkhead).queued();
        let release = thread::spawn(move || drop(held));
        let mut limited = Call::with(bulkhead, Request::new().within(Duration::from_nanos(10)));
        assert!(limited.poll().is_pending(), "it is behind another");
        clock.set(10);
        release.join().unwrap();
        drop(patient.granted());
        let served = limited.rings();
        let std::task::Poll::Ready(answer) = limited.poll() else { panic!("its time is up") };
        assert!(answer.is_err(), "handed over when it was late");
        served
    });
    assert_eq!(served, BTreeSet::from([1]));
}
