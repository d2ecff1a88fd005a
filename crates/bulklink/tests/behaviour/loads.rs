//! A controller looks at the load of a bulkhead, and is woken when it should look again.

use std::sync::Arc;
use std::task::Waker;

use bulklink::{Ceiling, EventFilter, EventKind, Load, Partitions, Request};

use crate::{CountingWaker, TestBulkhead, bulkhead, call, executor, recorder, taken};

/// The calls that a controller watches: those that lack units.
const CALLS: EventFilter = EventFilter::of(EventKind::Queued).or(EventFilter::of(EventKind::Saturated));

fn counter() -> (Arc<CountingWaker>, Waker) {
    let counter = Arc::new(CountingWaker::default());
    (Arc::clone(&counter), Waker::from(counter))
}

fn look(ceiling: &Ceiling) -> Load {
    ceiling.look(EventFilter::NONE, Waker::noop()).expect("the bulkhead is there")
}

/// Uses one slot, so that the word admits and rejects from now on.
fn use_a_slot(bulkhead: &TestBulkhead) {
    drop(bulkhead.try_slot().expect("free"));
}

#[test]
fn a_look_counts_since_the_look_before() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 10, 1);
    let [ceiling, other] = ["share", "other"].map(|by| bulkhead.handle().ceiling(by));
    ceiling.set(3);
    look(&ceiling);
    let running = [2, 1].map(|cost| bulkhead.with(Request::new().cost(cost)).try_slot().expect("free"));
    let waits = executor.spawn(bulkhead.with(Request::new().cost(4)).slot());
    executor.run_until_idle();
    for cost in [5, 2] {
        assert!(bulkhead.with(Request::new().cost(cost)).try_slot().is_err());
    }
    let seen = look(&ceiling);
    assert_eq!((seen.capacity, seen.is_closed, seen.in_use, seen.waiting), (10, false, 3, 4));
    assert_eq!((seen.refused, seen.peak_in_use, seen.peak_waiting), (7, 3, 4));

    waits.cancel();
    drop(running);
    assert!(bulkhead.with(Request::new().cost(4)).try_slot().is_err());
    let seen = look(&ceiling);
    assert_eq!((seen.in_use, seen.waiting, seen.refused), (0, 0, 4));
    assert_eq!((seen.peak_in_use, seen.peak_waiting), (3, 4), "they were there after the look before");
    let seen = look(&ceiling);
    assert_eq!((seen.refused, seen.peak_in_use, seen.peak_waiting), (0, 0, 0));

    let seen = look(&other);
    assert_eq!((seen.refused, seen.peak_in_use, seen.peak_waiting), (11, 3, 4), "its own look before");
    assert!(bulkhead.with(Request::new().cost(4)).try_slot().is_err());
    let seen = look(&bulkhead.handle().ceiling("new"));
    assert_eq!((seen.refused, seen.peak_in_use, seen.peak_waiting), (0, 0, 0), "what was before it was made");
    assert_eq!(look(&other).refused, 4);
    let status = bulkhead.status();
    assert_eq!((status.peak_in_use, status.peak_waiting, status.peak_waiting_units), (3, 1, 4), "those of all time");
}

#[test]
fn the_peak_counts_calls_that_the_word_admits_and_rejects() {
    let bulkhead = bulkhead(&executor(), 10, 0);
    let ceiling = bulkhead.handle().ceiling("share");
    ceiling.set(2);
    for _ in 0..2 {
        drop([bulkhead.try_slot().expect("free"), bulkhead.try_slot().expect("free")]);
    }
    look(&ceiling);
    for _ in 0..3 {
        let _running = [bulkhead.try_slot().expect("free"), bulkhead.try_slot().expect("free")];
        assert!(bulkhead.try_slot().is_err());
    }
    let seen = look(&ceiling);
    assert_eq!((seen.in_use, seen.peak_in_use, seen.refused), (0, 2, 3));
    assert_eq!(bulkhead.status().totals.rejected(), 3);
}

#[test]
fn the_next_call_that_lacks_units_wakes_once() {
    for waiting_room in [0, 10] {
        let mut executor = executor();
        let bulkhead = bulkhead(&executor, 10, waiting_room);
        let ceiling = bulkhead.handle().ceiling("share");
        ceiling.set(1);
        use_a_slot(&bulkhead);
        let (counter, waker) = counter();
        ceiling.look(CALLS, &waker);
        let _running = bulkhead.owned().try_slot().expect("free");
        assert_eq!(counter.wakes(), 0, "it has its unit");
        for wakes in [1, 1] {
            let _call = call(&mut executor, &bulkhead);
            assert_eq!(counter.wakes(), wakes);
        }
        assert!(bulkhead.try_slot().is_err());
        assert_eq!(counter.wakes(), 1, "it has not looked again");
        ceiling.look(CALLS, &waker);
        assert!(bulkhead.try_slot().is_err());
        assert_eq!(counter.wakes(), 2);
    }
}

#[test]
fn a_slot_that_is_given_back_wakes_where_that_is_watched() {
    let bulkhead = bulkhead(&executor(), 10, 0);
    let ceiling = bulkhead.handle().ceiling("share");
    use_a_slot(&bulkhead);
    let (counter, waker) = counter();
    let running = [bulkhead.try_slot().expect("free"), bulkhead.try_slot().expect("free")];
    ceiling.look(CALLS.or(EventFilter::of(EventKind::Released)), &waker);
    for slot in running {
        drop(slot);
        assert_eq!(counter.wakes(), 1);
    }
    assert_eq!(look(&ceiling).in_use, 0);
}

#[test]
fn a_change_of_the_bulkhead_and_its_end_wake() {
    let bulkhead = bulkhead(&executor(), 10, 0);
    let [ceiling, other] = ["share", "other"].map(|by| bulkhead.handle().ceiling(by));
    let (counter, waker) = counter();
    ceiling.look(EventFilter::CHANGES, &waker);
    bulkhead.resize(5).expect("open");
    assert_eq!((counter.wakes(), look(&ceiling).capacity), (1, 5));
    ceiling.look(EventFilter::CHANGES, &waker);
    other.look(EventFilter::NONE, &waker);
    bulkhead.close();
    assert_eq!((counter.wakes(), look(&ceiling).is_closed), (2, true));
    drop(bulkhead);
    assert_eq!(counter.wakes(), 3, "the other one has looked, and waits for the end");
    assert!(ceiling.look(CALLS, &waker).is_none());
}

#[test]
fn no_waker_is_kept_longer_than_its_ceiling_or_the_next_look() {
    let bulkhead = bulkhead(&executor(), 1, 0);
    let ceiling = bulkhead.handle().ceiling("share");
    let (counter, waker) = counter();
    let kept = || Arc::strong_count(&counter) - 2;
    for _ in 0..3 {
        ceiling.look(CALLS, &waker);
    }
    assert!(kept() > 0);
    look(&ceiling);
    assert_eq!(kept(), 0);
    ceiling.look(CALLS, &waker);
    drop(ceiling);
    assert_eq!(kept(), 0);
    let _running = bulkhead.try_slot().expect("free");
    assert!(bulkhead.try_slot().is_err());
    assert_eq!(counter.wakes(), 0);
}

/// Each handler gets its own events, whatever controllers watch.
#[test]
fn handlers_get_what_they_listen_to() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    let ceiling = bulkhead.handle().ceiling("share");
    let (counter, waker) = counter();
    ceiling.look(CALLS, &waker);
    let (log, handler) = recorder(|event| event.kind);
    let id = bulkhead.handle().add_event_handler(EventFilter::of(EventKind::Saturated), handler);
    for wakes in [1, 2] {
        let running = bulkhead.owned().try_slot().expect("free");
        let waits = call(&mut executor, &bulkhead);
        assert!(bulkhead.try_slot().is_err());
        assert_eq!((counter.wakes(), taken(&log)), (wakes, vec![EventKind::Saturated]));
        drop((running, waits.output()));
        waits.cancel();
        executor.run_until_idle();
        drop(waits.output());
        ceiling.look(CALLS, &waker);
    }
    bulkhead.handle().remove_event_handler(id);
    let _running = bulkhead.owned().try_slot().expect("free");
    assert!(bulkhead.try_slot().is_err());
    assert_eq!((counter.wakes(), taken(&log)), (3, vec![]), "and watches on without them");
}

#[test]
fn a_partition_that_is_gone_wakes() {
    let executor = executor();
    let tenants: Partitions<String, _> =
        Partitions::builder_on(executor.clock(), "tenants").parallelism(1).max_partitions(1).build().expect("valid");
    drop(tenants.key("ann").try_slot());
    let ceiling = tenants.partition("ann").expect("it is kept").ceiling("share");
    let (counter, waker) = counter();
    ceiling.look(CALLS, &waker);
    drop(tenants.key("bob").try_slot().expect("the only partition is made anew"));
    assert_eq!(counter.wakes(), 1);
}
