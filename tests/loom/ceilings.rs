//! Ceilings are set and lifted while calls enter and slots are released.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::task::Waker;

use bulklink::{EventFilter, EventKind};
use loom::future::block_on;
use loom::thread;

use crate::call::{Call, Wakes};
use crate::model::{TestBulkhead, check_identities, model, on_a_thread, use_a_slot};

/// Uses both slots at once, so that the word offers both without the gate.
fn use_two_slots(bulkhead: &TestBulkhead) {
    drop((bulkhead.try_slot().unwrap(), bulkhead.try_slot().unwrap()));
}

/// A third slot is released meanwhile, on whose unit neither may run beside the other.
#[test]
fn the_word_never_passes_a_ceiling() {
    let admitted = model(2, 0).preemptions_if_fast(2).explore(|bulkhead| {
        use_two_slots(bulkhead);
        let ceiling = bulkhead.handle().ceiling("loom");
        let held = bulkhead.owned().try_slot().unwrap();
        let other = on_a_thread(bulkhead, |bulkhead| bulkhead.owned().try_slot().ok());
        let release = thread::spawn(move || drop(held));
        ceiling.set(1);
        let mine = bulkhead.owned().try_slot().ok();
        let other = other.join().unwrap();
        release.join().unwrap();
        check_identities(&bulkhead.status());
        let admitted = (mine.is_some(), other.is_some());
        assert_ne!(admitted, (true, true), "two run under a ceiling of one");
        drop((mine, other));
        assert_eq!(bulkhead.status().free(), 1);
        admitted
    });
    assert_eq!(admitted, BTreeSet::from([(false, false), (false, true), (true, false)]));
}

#[test]
fn a_call_that_meets_the_lifting_of_a_ceiling_is_admitted() {
    let waited = model(1, 1).explore(|bulkhead| {
        use_a_slot(bulkhead);
        let ceiling = bulkhead.handle().ceiling("loom");
        ceiling.set(0);
        let lift = thread::spawn(move || drop(ceiling));
        drop(block_on(bulkhead.slot()).unwrap());
        lift.join().unwrap();
        bulkhead.status().totals.queued
    });
    assert_eq!(waited, BTreeSet::from([0, 1]));
}

#[test]
fn a_slot_released_while_a_ceiling_falls_is_passed_on_or_kept() {
    let passed_on = model(2, 1).explore(|bulkhead| {
        let (one, other) = (bulkhead.owned().try_slot().unwrap(), bulkhead.owned().try_slot().unwrap());
        let call = Call::new(bulkhead).queued();
        let ceiling = bulkhead.handle().ceiling("loom");
        let release = thread::spawn(move || drop(one));
        ceiling.set(1);
        release.join().unwrap();
        let status = bulkhead.status();
        check_identities(&status);
        let passed_on = status.totals.admitted_from_queue == 1;
        assert_eq!(call.wakes(), usize::from(passed_on));
        assert_eq!((status.in_flight, status.waiting), if passed_on { (2, 0) } else { (1, 1) });
        drop(other);
        drop(call.granted());
        passed_on
    });
    assert_eq!(passed_on, BTreeSet::from([false, true]));
}

#[test]
fn of_two_ceilings_set_at_once_the_least_counts() {
    model(3, 0).explore(|bulkhead| {
        let ceilings = [(); 2].map(|()| bulkhead.handle().ceiling("loom"));
        let [one, other] = ceilings;
        let set = thread::spawn(move || {
            one.set(1);
            one
        });
        other.set(2);
        let one = set.join().unwrap();
        assert_eq!(bulkhead.status().free(), 1);
        let drop_it = thread::spawn(move || drop(one));
        other.set(0);
        drop_it.join().unwrap();
        assert_eq!(bulkhead.status().free(), 0);
    });
}

/// The part that a rejection by the word needs is there when the word is.
#[test]
fn a_rejection_that_meets_a_ceiling_says_what_it_allows() {
    let told = model(2, 0).preemptions_if_fast(3).explore(|bulkhead| {
        use_two_slots(bulkhead);
        let held = bulkhead.owned().try_slot().unwrap();
        let ceiling = bulkhead.handle().ceiling("loom");
        let set = thread::spawn(move || {
            ceiling.set(1);
            ceiling
        });
        let told = bulkhead.try_slot().err().map(|rejection| {
            let restriction = rejection.restriction().expect("one unit is free without it");
            (restriction.by, restriction.units, rejection.occupancy().capacity())
        });
        let ceiling = set.join().unwrap();
        let rejected = bulkhead.status().totals.saturated;
        assert_eq!(rejected, u64::from(told.is_some()));
        drop((held, ceiling));
        told
    });
    assert_eq!(told, BTreeSet::from([None, Some(("loom", 1, 2))]));
}

#[test]
fn closing_wins_over_a_ceiling() {
    model(1, 1).preemptions_if_fast(3).explore(|bulkhead| {
        let ceiling = bulkhead.handle().ceiling("loom");
        ceiling.set(0);
        let call = Call::new(bulkhead).queued();
        let set = thread::spawn(move || {
            ceiling.set(1);
            ceiling.set(0);
            ceiling
        });
        assert!(bulkhead.close());
        let ceiling = set.join().unwrap();
        assert_eq!((call.wakes(), ceiling.units()), (1, None));
        drop(call);
        assert!(bulkhead.status().restriction.is_none());
    });
}

/// A call that is rejected by the word, without the lock, is in the load, or it wakes.
#[test]
fn a_look_misses_no_call_that_is_rejected() {
    let woken = model(2, 0).preemptions_if_fast(3).explore(|bulkhead| {
        use_two_slots(bulkhead);
        let ceiling = bulkhead.handle().ceiling("loom");
        ceiling.set(1);
        let held = bulkhead.owned().try_slot().unwrap();
        ceiling.look(EventFilter::NONE, Waker::noop());
        let other = on_a_thread(bulkhead, |bulkhead| bulkhead.try_slot().is_err());
        let wakes = Arc::new(Wakes::default());
        let calls = EventFilter::of(EventKind::Saturated);
        let seen = ceiling.look(calls, &Waker::from(Arc::clone(&wakes))).unwrap();
        assert!(other.join().unwrap());
        assert_eq!(seen.refused + wakes.count(), 1);
        drop(held);
        wakes.count()
    });
    assert_eq!(woken, BTreeSet::from([0, 1]));
}

#[test]
fn a_look_misses_no_call_that_waits_and_no_slot_that_is_released() {
    let woken = model(2, 1).explore(|bulkhead| {
        use_two_slots(bulkhead);
        let ceiling = bulkhead.handle().ceiling("loom");
        ceiling.set(1);
        let held = bulkhead.owned().try_slot().unwrap();
        ceiling.look(EventFilter::NONE, Waker::noop());
        let other = on_a_thread(bulkhead, |bulkhead| Call::new(bulkhead).queued());
        let wakes = Arc::new(Wakes::default());
        let waker = Waker::from(Arc::clone(&wakes));
        let seen = ceiling.look(EventFilter::of(EventKind::Queued), &waker).unwrap();
        let call = other.join().unwrap();
        assert_eq!(seen.waiting + wakes.count(), 1);
        let release = thread::spawn(move || drop(held));
        let before = ceiling.look(EventFilter::of(EventKind::Released), &waker).unwrap();
        release.join().unwrap();
        drop(call.granted());
        // One of the two slots was released before the look, and its unit was in use again.
        assert_eq!((before.in_use, ceiling.look(EventFilter::NONE, &waker).unwrap().in_use), (1, 0));
        wakes.count()
    });
    assert_eq!(woken, BTreeSet::from([1, 2]));
}
