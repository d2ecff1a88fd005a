//! A handler is added or removed while slots are acquired and released.

use std::collections::BTreeSet;
use std::sync::Arc;

use bulklink::{Event, EventFilter, EventKind};
use loom::thread;

use crate::call::Call;
use crate::model::{model, on_a_thread, use_a_slot};
use crate::recorder::Recorder;

use EventKind::{Admitted, Queued, Released};

/// Returns the number of events, which must be the last of the expected ones.
fn count_last_of(kinds: &[EventKind], expected: &[EventKind]) -> usize {
    assert!(expected.ends_with(kinds), "{kinds:?}");
    kinds.len()
}

#[test]
fn an_added_handler_gets_all_events_that_follow() {
    let counts = model(1, 0).explore(|bulkhead| {
        let recorder = Recorder::new();
        let other = on_a_thread(bulkhead, use_a_slot);
        recorder.attach(bulkhead);
        other.join().unwrap();
        recorder.complete_events(bulkhead);
        assert!(recorder.detach(bulkhead));
        count_last_of(&recorder.kinds(), &[Admitted, Released])
    });
    assert_eq!(counts, BTreeSet::from([0, 1, 2]));
}

#[test]
fn a_new_handler_gets_both_handover_events_or_none() {
    let counts = model(1, 1).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let call = Call::new(bulkhead).queued();
        let recorder = Recorder::new();
        let release = thread::spawn(move || drop(held));
        recorder.attach(bulkhead);
        release.join().unwrap();
        recorder.complete_events(bulkhead);
        let kinds = recorder.kinds();
        assert!(recorder.detach(bulkhead));
        drop(call.granted());
        count_last_of(&kinds, &[Released, Admitted])
    });
    assert_eq!(counts, BTreeSet::from([0, 2]));
}

#[test]
fn a_removed_handler_has_no_gap_in_its_events() {
    // If the delivery of an event began before the removal, the handler is called, even after the
    // removal.
    let counts = model(2, 0).preemptions_if_fast(3).explore(|bulkhead| {
        let recorder = Recorder::attached(bulkhead);
        let others = [(); 2].map(|()| on_a_thread(bulkhead, use_a_slot));
        assert!(recorder.detach(bulkhead));
        for other in others {
            other.join().unwrap();
        }
        recorder.events().len()
    });
    assert_eq!(counts, BTreeSet::from([0, 1, 2, 3, 4]));
}

#[test]
fn two_threads_that_add_a_handler_add_both() {
    model(1, 0).explore(|bulkhead| {
        let recorders = [Recorder::new(), Recorder::new()].map(Arc::new);
        let other = thread::spawn({
            let (bulkhead, recorder) = (bulkhead.clone(), Arc::clone(&recorders[0]));
            move || recorder.attach(&bulkhead)
        });
        recorders[1].attach(bulkhead);
        other.join().unwrap();
        drop(bulkhead.try_slot().unwrap());
        for recorder in &recorders {
            assert_eq!(recorder.kinds(), [Admitted, Released]);
            assert!(recorder.detach(bulkhead) && !recorder.detach(bulkhead));
        }
    });
}

#[test]
fn a_handler_may_use_the_bulkhead_in_any_interleaving() {
    // A handler that is called, or a list of handlers that is dropped, under the lock would be a
    // deadlock here.
    model(1, 1).explore(|bulkhead| {
        let asking = {
            let bulkhead = bulkhead.clone();
            move |event: &Event| assert!(bulkhead.status().totals.admitted >= u64::from(event.kind != Queued))
        };
        let added = bulkhead.handle().add_event_handler(EventFilter::ALL, asking);
        let held = bulkhead.owned().try_slot().unwrap();
        let release = thread::spawn(move || drop(held));
        let mut call = Call::new(bulkhead);
        let found = call.poll();
        release.join().unwrap();
        if found.is_pending() {
            drop(call.granted());
        }
        drop(found);
        assert!(bulkhead.handle().remove_event_handler(added));
    });
}

#[test]
fn a_thread_that_waits_for_its_events_takes_over_or_goes_on() {
    // A share is one event here, so threads wait. One that is never woken would be a deadlock.
    let by_others = model(1, 0).preemptions(3).explore(|bulkhead| {
        bulkhead.close();
        let delivered = Arc::new(std::sync::Mutex::new(vec![]));
        let log = Arc::clone(&delivered);
        let added = bulkhead.handle().add_event_handler(EventFilter::ALL, move |event| {
            // Reading the clock lets another thread go on.
            let _ = event.at();
            log.lock().unwrap().push((event.number, thread::current().id()));
        });
        let threads = [(); 2].map(|()| on_a_thread(bulkhead, |bulkhead| drop(bulkhead.try_slot())));
        (0..2).for_each(|_| drop(bulkhead.try_slot()));
        for other in threads {
            other.join().unwrap();
        }
        bulkhead.handle().remove_event_handler(added);
        let delivered = delivered.lock().unwrap();
        assert!(delivered.iter().map(|&(number, _)| number).eq(1..=4), "each once, in order");
        let this = thread::current().id();
        delivered.iter().filter(|&&(_, thread)| thread != this).count()
    });
    assert_eq!(by_others, BTreeSet::from([0, 1, 2, 3, 4]));
}
