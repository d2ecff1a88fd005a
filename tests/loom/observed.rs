//! With an event handler: every transition is reported once, numbered in its order, and its
//! occupancy follows from the event before it.

use std::collections::BTreeSet;

use bulklink::EventKind;
use loom::thread;

use crate::call::Call;
use crate::model::{model, on_a_thread, use_a_slot};
use crate::recorder::Recorder;

use EventKind::{Abandoned, Admitted, Cancelled, Closed, ClosedRejection, Drained, Released, Resized};

#[test]
fn events_of_two_threads_make_one_sequence() {
    model(2, 0).explore(|bulkhead| {
        let recorder = Recorder::attached(bulkhead);
        let other = on_a_thread(bulkhead, use_a_slot);
        drop(bulkhead.try_slot().unwrap());
        other.join().unwrap();
        let kinds: Vec<_> = recorder.complete_events(bulkhead).iter().map(|event| event.kind).collect();
        assert!(kinds == [Admitted, Admitted, Released, Released] || kinds == [Admitted, Released, Admitted, Released]);
        recorder.detach(bulkhead);
    });
}

#[test]
fn a_call_dropped_during_a_handover_is_reported_once() {
    // With a handler, the call is cancelled in two steps with a reading of the clock between them,
    // where the hand-over may happen.
    let outcomes = model(1, 2).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let [first, second] = Call::queue(bulkhead);
        let recorder = Recorder::attached(bulkhead);
        let release = thread::spawn(move || drop(held));
        drop(first);
        release.join().unwrap();
        recorder.complete_events(bulkhead);
        let (kinds, totals) = (recorder.kinds(), bulkhead.status().totals);
        recorder.detach(bulkhead);
        drop(second.granted());
        if totals.abandoned > 0 {
            assert_eq!(kinds, [Released, Admitted, Abandoned, Admitted]);
        } else {
            assert!(kinds == [Cancelled, Released, Admitted] || kinds == [Released, Cancelled, Admitted]);
        }
        (totals.cancelled, totals.abandoned)
    });
    assert_eq!(outcomes, BTreeSet::from([(0, 1), (1, 0)]));
}

#[test]
fn growing_past_the_event_batch_reports_all() {
    model(1, 3).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let calls = Call::queue::<3>(bulkhead);
        let recorder = Recorder::attached(bulkhead);
        let release = thread::spawn(move || drop(held));
        bulkhead.resize(4).unwrap();
        release.join().unwrap();
        let events = recorder.complete_events(bulkhead);
        assert_eq!(events.iter().filter(|event| event.kind == Admitted).count(), 3);
        let resized = events.iter().find(|event| event.kind == Resized).unwrap();
        assert!(resized.previous_capacity() == Some(1) && resized.affected_waiters() >= 2);
        recorder.detach(bulkhead);
        drop(calls.map(Call::granted));
    });
}

#[test]
fn closing_reports_every_waiter_and_the_drain() {
    let outcomes = model(1, 2).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let calls = Call::queue::<2>(bulkhead);
        let recorder = Recorder::attached(bulkhead);
        let release = thread::spawn(move || drop(held));
        bulkhead.close();
        release.join().unwrap();
        let slots = calls.map(|call| call.answer().is_ok());
        let events = recorder.complete_events(bulkhead);
        assert_eq!(events.last().unwrap().kind, Drained);
        let closed = events.iter().find(|event| event.kind == Closed).unwrap();
        let released = events.iter().find(|event| event.kind == Released).unwrap();
        let rejected = events.iter().filter(|event| event.kind == ClosedRejection).count();
        assert_eq!(closed.affected_waiters(), rejected);
        assert_eq!(rejected, slots.iter().filter(|granted| !**granted).count());
        assert_eq!(rejected, if released.number < closed.number { 1 } else { 2 });
        rejected
    });
    assert_eq!(outcomes, BTreeSet::from([1, 2]));
}
