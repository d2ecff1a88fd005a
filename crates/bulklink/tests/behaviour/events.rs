//! Event handlers: the events that they receive, and their rights.

use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use bulklink::{Event, EventFilter, EventKind, HandlerId};

use crate::{Log, TestBulkhead, bulkhead, call, executor, ms, recorder, slot, taken};

/// A timeout that only a failing test reaches.
const LONG: Duration = Duration::from_secs(10);

/// The kind of an event, and the numbers of operations and of waiters right after it.
type Seen = (EventKind, usize, usize);

fn observe(bulkhead: &TestBulkhead) -> (Log<Seen>, HandlerId) {
    let (log, handler) = recorder(|event| (event.kind, event.occupancy.in_flight(), event.occupancy.waiting()));
    (log, bulkhead.handle().add_event_handler(EventFilter::ALL, handler))
}

#[test]
fn every_transition_is_reported_with_the_occupancy_right_after_it() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    let (log, _) = observe(&bulkhead);
    let running = slot(&call(&mut executor, &bulkhead));
    let waiting = call(&mut executor, &bulkhead);
    drop(call(&mut executor, &bulkhead));
    drop(running);
    executor.run_until_idle();
    drop(slot(&waiting));
    bulkhead.close();
    let expected = [
        (EventKind::Admitted, 1, 0),
        (EventKind::Queued, 1, 1),
        (EventKind::Saturated, 1, 1),
        (EventKind::Released, 0, 1),
        (EventKind::Admitted, 1, 0),
        (EventKind::Released, 0, 0),
        (EventKind::Closed, 0, 0),
        (EventKind::Drained, 0, 0),
    ];
    assert_eq!(*log.lock().expect("no panic"), expected);
}

#[test]
fn a_cancelled_event_has_the_wait() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    let _running = bulkhead.try_slot().expect("free");
    let waiting = call(&mut executor, &bulkhead);
    let (waits, handler) = recorder(|event| (event.kind, event.waited()));
    bulkhead.handle().add_event_handler(EventFilter::ALL, handler);
    executor.advance(ms(30));
    waiting.cancel();
    assert_eq!(*waits.lock().expect("no panic"), [(EventKind::Cancelled, Some(ms(30)))]);
}

#[test]
fn removing_a_missing_handler_does_nothing() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let (log, added) = observe(&bulkhead);
    let other = crate::bulkhead(&executor, 1, 0).handle().add_event_handler(EventFilter::ALL, |_| ());
    assert!(!bulkhead.handle().remove_event_handler(other), "it belongs to another bulkhead");
    drop(bulkhead.try_slot());
    assert_eq!(log.lock().expect("no panic").len(), 2);
    assert!(bulkhead.handle().remove_event_handler(added));
    assert!(!bulkhead.handle().remove_event_handler(added));
    drop(bulkhead.try_slot());
    assert_eq!(log.lock().expect("no panic").len(), 2);
}

#[test]
fn handlers_run_in_order_and_no_panic_stops_another() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let order = Arc::new(Mutex::new(vec![]));
    for number in 0..3 {
        let order = Arc::clone(&order);
        bulkhead.handle().add_event_handler(EventFilter::ALL, move |_| {
            order.lock().expect("no panic under this lock").push(number);
            assert!(number != 1, "on purpose");
        });
    }
    let _running = bulkhead.try_slot().expect("the handler's panic is not the caller's");
    assert_eq!(*order.lock().expect("no panic"), [0, 1, 2]);
    assert_eq!(bulkhead.status().handler_panics, 1);
    assert_eq!(bulkhead.status().in_flight, 1);
}

#[test]
fn a_handler_may_use_the_bulkhead() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let seen = Arc::new(Mutex::new(vec![]));
    let (log, inside) = (Arc::clone(&seen), bulkhead.clone());
    let handler = move |event: &Event| {
        log.lock().expect("no panic").push((event.kind, inside.status().in_flight));
        if event.kind == EventKind::Admitted {
            inside.close();
        }
    };
    let added = bulkhead.handle().add_event_handler(EventFilter::ALL, handler);
    drop(bulkhead.try_slot());
    let kinds: Vec<_> = seen.lock().expect("no panic").iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [EventKind::Admitted, EventKind::Closed, EventKind::Released, EventKind::Drained]);
    bulkhead.handle().remove_event_handler(added);
}

#[test]
fn events_have_numbers_without_gaps_and_the_bulkheads_time() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let (seen, handler) = recorder(|event| (event.number, event.at()));
    bulkhead.handle().add_event_handler(EventFilter::ALL, handler);
    let start = bulklink::runtime::Clock::now(&executor.clock());
    let running = bulkhead.try_slot();
    executor.advance(ms(3));
    drop(running);
    assert_eq!(*seen.lock().expect("no panic"), [(1, start), (2, start + ms(3))]);
}

#[test]
fn no_event_is_recorded_without_a_handler() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let numbers = Log::default();
    for _ in 0..2 {
        let log = Arc::clone(&numbers);
        let added = bulkhead
            .handle()
            .add_event_handler(EventFilter::ALL, move |event| log.lock().expect("no panic").push(event.number));
        drop(bulkhead.try_slot());
        bulkhead.handle().remove_event_handler(added);
        drop(bulkhead.try_slot());
    }
    assert_eq!(*numbers.lock().expect("no panic"), [1, 2, 3, 4]);
}

#[test]
fn a_removed_handler_that_panics_when_dropped_loses_no_slot() {
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            panic!("a handler that panics when dropped, on purpose");
        }
    }
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let itself: Arc<Mutex<Option<HandlerId>>> = Arc::default();
    let (place, inside, bad) = (Arc::clone(&itself), bulkhead.clone(), Bad);
    let handler = move |_: &Event| {
        let _captured = &bad;
        let added = place.lock().expect("no panic").take();
        if let Some(added) = added {
            inside.handle().remove_event_handler(added);
        }
    };
    *itself.lock().expect("no panic") = Some(bulkhead.handle().add_event_handler(EventFilter::ALL, handler));
    drop(bulkhead.try_slot().expect("its panic is contained"));
    assert_eq!(bulkhead.status().in_flight, 0);
}

#[test]
fn the_counters_do_not_depend_on_handlers() {
    let counted = [false, true].map(|observed| {
        let mut executor = executor();
        let bulkhead =
            crate::builder(&executor).parallelism(1).waiting_room(1).wait_limit(ms(10)).build().expect("valid");
        let _running = bulkhead.try_slot().expect("free");
        if observed {
            observe(&bulkhead);
        }
        let waiting = call(&mut executor, &bulkhead);
        executor.clock().advance(ms(20));
        waiting.cancel();
        let totals = bulkhead.status().totals;
        (totals.cancelled, totals.expired)
    });
    assert_eq!(counted, [(1, 0); 2]);
}

#[test]
fn a_handler_is_called_for_the_events_of_its_filter_only() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    let ((rejections, rejected), (waits, waited)) = (recorder(|event| event.kind), recorder(|event| event.kind));
    bulkhead.handle().add_event_handler(EventFilter::REJECTIONS, rejected);
    let added = bulkhead.handle().add_event_handler(EventFilter::WAITS, waited);
    let use_all = |executor: &mut bulklink::testing::Executor| {
        let running = slot(&call(executor, &bulkhead));
        let waiting = call(executor, &bulkhead);
        drop(call(executor, &bulkhead));
        drop(running);
        executor.run_until_idle();
        drop(slot(&waiting));
    };
    use_all(&mut executor);
    assert_eq!(taken(&rejections), [EventKind::Saturated]);
    assert_eq!(taken(&waits), [EventKind::Queued, EventKind::Admitted], "not the direct admission");
    assert!(bulkhead.handle().remove_event_handler(added));
    use_all(&mut executor);
    bulkhead.close();
    assert!(bulkhead.try_slot().is_err());
    assert_eq!(taken(&rejections), [EventKind::Saturated, EventKind::ClosedRejection]);
    assert_eq!(taken(&waits), []);
}

/// So a handler that waited for such a lock would wait for ever.
#[test]
fn a_handler_gets_the_events_of_others_under_the_locks_of_a_call() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let _running = bulkhead.try_slot().expect("free");
    let lock = Arc::new(Mutex::new(()));
    let ((called, calls), (go_on, goes_on)) = (mpsc::channel(), mpsc::channel());
    let (inside, goes_on) = (Arc::clone(&lock), Mutex::new(goes_on));
    bulkhead.handle().add_event_handler(EventFilter::ALL, move |_| {
        called.send((thread::current().id(), inside.try_lock().is_err())).expect("the test goes on");
        _ = goes_on.lock().expect("no panic").recv_timeout(LONG);
    });
    let locked = thread::spawn({
        let bulkhead = bulkhead.clone();
        move || {
            let _held = lock.lock().expect("no panic");
            drop(bulkhead.try_slot());
        }
    });
    let thread = locked.thread().id();
    assert_eq!(calls.recv_timeout(LONG), Ok((thread, true)), "its own event");
    assert!(bulkhead.try_slot().is_err(), "this call holds no lock, and goes on");
    (0..2).for_each(|_| go_on.send(()).expect("the handler goes on"));
    assert_eq!(calls.recv_timeout(LONG), Ok((thread, true)), "that of this call");
    locked.join().expect("no panic");
}

#[test]
fn a_filter_changes_no_counter() {
    let filters = [EventFilter::NONE, EventFilter::REJECTIONS, EventFilter::WAITS, EventFilter::ALL];
    let [none, others @ ..] = filters.map(|filter| {
        let mut executor = executor();
        let bulkhead = bulkhead(&executor, 1, 1);
        bulkhead.handle().add_event_handler(filter, |_| ());
        for _ in 0..3 {
            let running = slot(&call(&mut executor, &bulkhead));
            let waiting = call(&mut executor, &bulkhead);
            assert!(bulkhead.try_slot().is_err());
            drop((running, waiting));
        }
        bulkhead.close();
        assert!(bulkhead.try_slot().is_err());
        bulkhead.status().totals
    });
    assert_eq!(others, [none; 3]);
}
