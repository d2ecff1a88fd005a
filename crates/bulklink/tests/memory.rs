//! With the feature `tracing` and without a subscriber, nothing is allocated for it; and a burst of
//! events leaves no memory behind, with handlers and in channels, nor does a key whose share was
//! removed. A program of its own, because it counts the allocations of the whole program: so one
//! test at a time.

use std::alloc::System;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};

use bulklink::partitions::Share;
use bulklink::testing::FakeClock;
use bulklink::{Bulkhead, EventFilter, Partitions, Request};
use futures_util::FutureExt;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

static ONE_TEST: Mutex<()> = Mutex::new(());

/// Returns the allocations of a hundred rounds of these calls, the fewest of five attempts: a test
/// that has just ended is still reported on another thread.
fn allocated(calls: impl Fn()) -> usize {
    let allocations = |_| {
        let region = Region::new(HEAP);
        (0..100).for_each(|_| calls());
        let change = region.change();
        change.allocations + change.reallocations
    };
    (0..5).map(allocations).min().unwrap_or_default()
}

#[test]
fn without_a_subscriber_nothing_is_allocated() {
    let _turn = ONE_TEST.lock().unwrap_or_else(PoisonError::into_inner);
    let bulkhead = Bulkhead::builder_on(FakeClock::new(), "test").parallelism(1).waiting_room(1);
    let bulkhead = bulkhead.build().expect("valid");
    let calls = || {
        let held = bulkhead.try_slot().expect("free");
        let mut waiting = pin!(bulkhead.slot());
        assert!((&mut waiting).now_or_never().is_none(), "it waits");
        assert!(bulkhead.try_slot().is_err(), "no slot is free");
        drop(held);
        assert!(waiting.now_or_never().expect("it was handed the slot").is_ok());
    };
    // The queue and the histogram keep the allocations of the first calls.
    (0..10).for_each(|_| calls());
    assert_eq!(allocated(calls), 0);
}

#[test]
fn a_rejection_under_a_ceiling_allocates_nothing() {
    let _turn = ONE_TEST.lock().unwrap_or_else(PoisonError::into_inner);
    let bulkhead = Bulkhead::builder_on(FakeClock::new(), "test").parallelism(9).build().expect("valid");
    let ceilings = ["one", "other"].map(|by| bulkhead.handle().ceiling(by));
    ceilings[0].set(1);
    let _held = bulkhead.try_slot().expect("free");
    for units in [1, 0, 1] {
        ceilings[1].set(units);
        let reject = || {
            let by_word = bulkhead.try_slot().expect_err("no slot is free");
            let by_gate = bulkhead.with(Request::new().cost(2)).try_slot().expect_err("no slot is free");
            assert_eq!((by_word.restriction(), by_word.restriction().is_some()), (by_gate.restriction(), true));
        };
        assert_eq!(allocated(reject), 0);
    }
}

#[test]
fn a_burst_of_events_leaves_no_memory_behind() {
    const CALLS: usize = 5_000;
    let _turn = ONE_TEST.lock().unwrap_or_else(PoisonError::into_inner);
    let bulkhead = Bulkhead::builder_on(FakeClock::new(), "test").parallelism(1).waiting_room(CALLS);
    let bulkhead = bulkhead.build().expect("valid");
    // Admits all calls in one step: an event each, before the first is delivered.
    let burst = || {
        let held = bulkhead.try_slot().expect("free");
        let waiting: Vec<_> = (0..CALLS)
            .map(|_| {
                let mut waiting = Box::pin(bulkhead.slot());
                assert!((&mut waiting).now_or_never().is_none(), "it waits");
                waiting
            })
            .collect();
        bulkhead.resize(1 + CALLS).expect("open");
        drop((waiting, held));
        bulkhead.resize(1).expect("open");
    };
    // The queue of calls keeps its allocations.
    burst();
    bulkhead.handle().add_event_handler(EventFilter::ALL, |_| ());
    drop(bulkhead.try_slot());
    let region = Region::new(HEAP);
    burst();
    let change = region.change();
    let left = change.bytes_allocated.saturating_sub(change.bytes_deallocated);
    assert!(change.bytes_allocated > CALLS * size_of::<bulklink::Event>() / 2, "events were queued: {change:?}");
    assert!(left < 16 * 1024, "{left} bytes are left: {change:?}");
}

#[test]
fn a_burst_of_events_leaves_no_memory_in_a_channel() {
    const EVENTS: usize = 10_000;
    let _turn = ONE_TEST.lock().unwrap_or_else(PoisonError::into_inner);
    let bulkhead = Bulkhead::builder_on(FakeClock::new(), "burst").parallelism(1).build().expect("valid");
    let _held = bulkhead.try_slot().expect("free");
    let mut events = bulkhead.handle().subscribe(EventFilter::ALL, EVENTS).expect("valid");
    drop(bulkhead.try_slot());
    let region = Region::new(HEAP);
    (0..EVENTS).for_each(|_| drop(bulkhead.try_slot()));
    while events.try_recv().is_ok() {}
    let change = region.change();
    let left = change.bytes_allocated.saturating_sub(change.bytes_deallocated);
    assert!(change.bytes_allocated > EVENTS * size_of::<bulklink::Event>() / 2, "events were kept: {change:?}");
    assert!(left < 16 * 1024, "{left} bytes are left: {change:?}");
}

#[test]
fn keys_whose_shares_were_removed_leave_no_memory_behind() {
    let _turn = ONE_TEST.lock().unwrap_or_else(PoisonError::into_inner);
    let models = Partitions::builder_on(FakeClock::new(), "models").shared_capacity(9).max_partitions(1);
    let models: Partitions<u64, FakeClock> = models.build().expect("valid");
    let come_and_go = |key: u64| {
        models.set_share(&key, Share::new().weight(2)).expect("valid");
        // Every other key has a partition, which stays until the next one comes.
        drop((key % 2 == 0).then(|| models.key(&key).try_slot().expect("free")));
        assert!(models.remove_share(&key));
        models.set_share(&key, Share::new().floor(9).kept()).expect("no other floor is kept");
        models.set_share(&key, Share::new().floor(10)).expect_err("more than the capacity");
        assert!(models.remove_share(&key));
    };
    (0..10).for_each(come_and_go);
    let region = Region::new(HEAP);
    (10..5_000).for_each(come_and_go);
    let change = region.change();
    let left = change.bytes_allocated.saturating_sub(change.bytes_deallocated);
    assert!(left < 16 * 1024, "{left} bytes are left: {change:?}");
}
