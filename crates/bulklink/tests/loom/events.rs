//! A handler comes or goes while others are admitted and released.

use std::collections::BTreeSet;
use std::sync::Arc;

use bulklink::{Event, EventHandler, EventKind};
use loom::thread;

use crate::call::Call;
use crate::model::{Front, model};
use crate::recorder::Recorder;

use EventKind::{Admitted, Queued, Released};

fn pass_through_on_a_thread(bulkhead: &Front) -> thread::JoinHandle<()> {
    let bulkhead = bulkhead.clone();
    thread::spawn(move || drop(bulkhead.try_slot().unwrap()))
}

/// How many events each execution told, which had to be the last of these.
fn told_of_the_end(kinds: &[EventKind], expected: &[EventKind]) -> usize {
    assert!(expected.ends_with(kinds), "{kinds:?}");
    kinds.len()
}

#[test]
fn one_who_begins_to_listen_hears_all_that_follows() {
    let told = model(1, 0).explore(|bulkhead| {
        let recorder = Recorder::new();
        let other = pass_through_on_a_thread(bulkhead);
        assert!(recorder.attach(bulkhead));
        other.join().unwrap();
        recorder.whole_story(bulkhead);
        assert!(recorder.detach(bulkhead));
        told_of_the_end(&recorder.kinds(), &[Admitted, Released])
    });
    assert_eq!(told, BTreeSet::from([0, 1, 2]));
}

#[test]
fn one_who_begins_to_listen_during_a_hand_over_hears_all_of_it_or_nothing() {
    let told = model(1, 1).explore(|bulkhead| {
        let held = bulkhead.try_slot_owned().unwrap();
        let call = Call::new(bulkhead).queued();
        let recorder = Recorder::new();
        let release = thread::spawn(move || drop(held));
        assert!(recorder.attach(bulkhead));
        release.join().unwrap();
        recorder.whole_story(bulkhead);
        let kinds = recorder.kinds();
        assert!(recorder.detach(bulkhead));
        drop(call.granted());
        told_of_the_end(&kinds, &[Released, Admitted])
    });
    assert_eq!(told, BTreeSet::from([0, 2]));
}

#[test]
fn one_who_stops_listening_has_missed_nothing_in_between() {
    // What was taken to be told before that reaches it, also if it is told after.
    let told = model(2, 0).preemptions_if_fast(3).explore(|bulkhead| {
        let recorder = Recorder::attached(bulkhead);
        let others = [(); 2].map(|()| pass_through_on_a_thread(bulkhead));
        assert!(recorder.detach(bulkhead));
        for other in others {
            other.join().unwrap();
        }
        recorder.events().len()
    });
    assert_eq!(told, BTreeSet::from([0, 1, 2, 3, 4]));
}

#[test]
fn one_listener_attached_twice_at_once_listens_once() {
    model(1, 0).explore(|bulkhead| {
        let recorder = Recorder::new();
        let other = thread::spawn({
            let (bulkhead, handler) = (bulkhead.clone(), recorder.handler());
            move || bulkhead.add_event_handler(&handler)
        });
        assert!(recorder.attach(bulkhead) != other.join().unwrap());
        drop(bulkhead.try_slot().unwrap());
        assert_eq!(recorder.kinds(), [Admitted, Released]);
        assert!(recorder.detach(bulkhead) && !recorder.detach(bulkhead));
    });
}

#[test]
fn a_listener_may_ask_the_bulkhead() {
    // A handler that is called, or a list of handlers that is dropped, under the lock would lock up here.
    model(1, 1).explore(|bulkhead| {
        let asking: EventHandler = Arc::new({
            let bulkhead = bulkhead.clone();
            move |event: &Event| assert!(bulkhead.status().totals.admitted >= u64::from(event.kind != Queued))
        });
        assert!(bulkhead.add_event_handler(&asking));
        let held = bulkhead.try_slot_owned().unwrap();
        let release = thread::spawn(move || drop(held));
        let mut call = Call::new(bulkhead);
        let found = call.poll();
        release.join().unwrap();
        if found.is_pending() {
            drop(call.granted());
        }
        drop(found);
        assert!(bulkhead.remove_event_handler(&asking));
    });
}
