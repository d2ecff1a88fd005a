//! With the feature `tracing` and without a subscriber, nothing is allocated for it. A program of
//! its own, because it counts what the whole program allocates.

use std::alloc::System;
use std::pin::pin;

use bulklink::Bulkhead;
use bulklink::testing::FakeClock;
use futures_util::FutureExt;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[test]
fn without_a_subscriber_nothing_is_allocated() {
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
    // The queue and the histogram keep what the first calls allocate.
    (0..10).for_each(|_| calls());
    let region = Region::new(HEAP);
    (0..100).for_each(|_| calls());
    let change = region.change();
    assert_eq!(change.allocations + change.reallocations, 0, "{change:?}");
}
