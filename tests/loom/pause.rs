//! Pausing and resuming while calls enter and slots are released.

use std::collections::BTreeSet;

use loom::future::block_on;
use loom::thread;

use crate::call::Call;
use crate::model::{TestBulkhead, check_identities, model, on_a_thread, use_a_slot};

fn pause(bulkhead: &TestBulkhead) {
    assert!(bulkhead.pause());
}

/// The slots were in use before, so that the word admits and releases without the gate.
#[test]
fn after_a_pause_the_word_admits_no_call() {
    let admitted = model(2, 0).preemptions_if_fast(2).explore(|bulkhead| {
        use_a_slot(bulkhead);
        let held = bulkhead.owned().try_slot().unwrap();
        let other = on_a_thread(bulkhead, |bulkhead| bulkhead.try_slot().is_ok());
        let release = thread::spawn(move || drop(held));
        pause(bulkhead);
        let before = bulkhead.status().totals.admitted;
        assert!(bulkhead.try_slot().is_err(), "a call was admitted after the pause");
        let admitted = other.join().unwrap();
        release.join().unwrap();
        let status = bulkhead.status();
        check_identities(&status);
        assert_eq!((status.totals.admitted, status.in_flight), (before, 0));
        assert!(bulkhead.try_slot().is_err(), "the release has admitted a call");
        assert!(bulkhead.resume());
        admitted
    });
    assert_eq!(admitted, BTreeSet::from([false, true]));
}

#[test]
fn a_slot_released_during_a_pause_admits_the_waiter_later() {
    let passed_on = model(1, 1).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let call = Call::new(bulkhead).queued();
        let release = thread::spawn(move || drop(held));
        pause(bulkhead);
        let passed_on = bulkhead.status().totals.admitted_from_queue == 1;
        release.join().unwrap();
        assert_eq!(call.wakes(), usize::from(passed_on));
        assert!(bulkhead.resume());
        assert_eq!(call.wakes(), 1);
        drop(call.granted());
        passed_on
    });
    assert_eq!(passed_on, BTreeSet::from([false, true]));
}

#[test]
fn a_call_that_meets_a_resumption_is_admitted() {
    let waited = model(1, 1).explore(|bulkhead| {
        use_a_slot(bulkhead);
        pause(bulkhead);
        let resume = on_a_thread(bulkhead, |bulkhead| assert!(bulkhead.resume()));
        drop(block_on(bulkhead.slot()).unwrap());
        resume.join().unwrap();
        bulkhead.status().totals.queued
    });
    assert_eq!(waited, BTreeSet::from([0, 1]));
}

#[test]
fn a_call_that_meets_a_pause_and_a_resumption_is_admitted() {
    model(1, 1).preemptions_if_fast(3).explore(|bulkhead| {
        use_a_slot(bulkhead);
        let control = on_a_thread(bulkhead, |bulkhead| {
            pause(bulkhead);
            assert!(bulkhead.resume());
        });
        drop(block_on(bulkhead.slot()).unwrap());
        control.join().unwrap();
    });
}

#[test]
fn closing_wins_over_pausing() {
    let paused = model(1, 1).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let call = Call::new(bulkhead).queued();
        let other = on_a_thread(bulkhead, |bulkhead| bulkhead.pause());
        assert!(bulkhead.close());
        let paused = other.join().unwrap();
        assert!(!bulkhead.status().is_paused && !bulkhead.resume());
        assert_eq!(call.wakes(), 1);
        drop((held, call));
        paused
    });
    assert_eq!(paused, BTreeSet::from([false, true]));
}
