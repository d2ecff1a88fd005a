//! All is observed: every transition is told once, numbered in the order in which it happened, with figures that follow on.

use std::collections::BTreeSet;

use bulklink::EventKind;
use loom::thread;

use crate::call::Call;
use crate::model::model;
use crate::recorder::Recorder;

use EventKind::{Abandoned, Admitted, Cancelled, Closed, ClosedRejection, Drained, Released, Resized};

#[test]
fn two_threads_that_come_and_go_make_one_story() {
    model(2, 0).explore(|bulkhead| {
        let recorder = Recorder::attached(bulkhead);
        let other = thread::spawn({
            let bulkhead = bulkhead.clone();
            move || drop(bulkhead.try_slot().unwrap())
        });
        drop(bulkhead.try_slot().unwrap());
        other.join().unwrap();
        let kinds: Vec<_> = recorder.whole_story(bulkhead).iter().map(|event| event.kind).collect();
        assert!(kinds == [Admitted, Admitted, Released, Released] || kinds == [Admitted, Released, Admitted, Released]);
        recorder.detach(bulkhead);
    });
}

#[test]
fn a_call_dropped_in_the_hand_over_is_told_once_as_what_it_was_counted() {
    // Observed, the call is withdrawn in two steps with the clock read between them, and the hand-over may come there.
    let withdrawn = model(1, 2).explore(|bulkhead| {
        let held = bulkhead.try_slot_owned().unwrap();
        let [first, second] = Call::line(bulkhead);
        let recorder = Recorder::attached(bulkhead);
        let release = thread::spawn(move || drop(held));
        drop(first);
        release.join().unwrap();
        recorder.whole_story(bulkhead);
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
    assert_eq!(withdrawn, BTreeSet::from([(0, 1), (1, 0)]));
}

#[test]
fn growing_past_the_event_batch_tells_all() {
    model(1, 3).explore(|bulkhead| {
        let held = bulkhead.try_slot_owned().unwrap();
        let calls = Call::line::<3>(bulkhead);
        let recorder = Recorder::attached(bulkhead);
        let release = thread::spawn(move || drop(held));
        bulkhead.resize(4).unwrap();
        release.join().unwrap();
        let events = recorder.whole_story(bulkhead);
        assert_eq!(events.iter().filter(|event| event.kind == Admitted).count(), 3);
        let resized = events.iter().find(|event| event.kind == Resized).unwrap();
        assert!(resized.previous_capacity() == Some(1) && resized.affected_waiters() >= 2);
        recorder.detach(bulkhead);
        drop(calls.map(Call::granted));
    });
}

#[test]
fn closing_tells_the_whole_end() {
    let stories = model(1, 2).explore(|bulkhead| {
        let held = bulkhead.try_slot_owned().unwrap();
        let calls = Call::line::<2>(bulkhead);
        let recorder = Recorder::attached(bulkhead);
        let release = thread::spawn(move || drop(held));
        bulkhead.close();
        release.join().unwrap();
        let slots = calls.map(|call| call.answer().is_ok());
        let events = recorder.whole_story(bulkhead);
        assert_eq!(events.last().unwrap().kind, Drained);
        let closed = events.iter().find(|event| event.kind == Closed).unwrap();
        let freed = events.iter().find(|event| event.kind == Released).unwrap();
        let turned_out = events.iter().filter(|event| event.kind == ClosedRejection).count();
        assert_eq!(closed.affected_waiters(), turned_out);
        assert_eq!(turned_out, slots.iter().filter(|granted| !**granted).count());
        assert_eq!(turned_out, if freed.number < closed.number { 1 } else { 2 });
        turned_out
    });
    assert_eq!(stories, BTreeSet::from([1, 2]));
}
