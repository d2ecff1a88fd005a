//! Limits for each key.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use bulklink::testing::Executor;
use bulklink::{EventFilter, Limits, Reason, Request};

use super::{Tenants, builder, call, counts, touch, touch_each};
use crate::{executor, ms, reason, recorder, taken};

/// Returns partitions with a capacity of two, or twice as much for keys with an `a`; and with none
/// for "nobody".
fn doubled(executor: &Executor, max_partitions: usize) -> Tenants {
    let limits_for = |key: &String, limits: Limits| match key.as_str() {
        "nobody" => limits.with_capacity(0).with_wait_limit(Some(ms(0))),
        key if key.contains('a') => limits.with_capacity(2 * limits.capacity).with_waiting_room(1),
        _ => limits,
    };
    let builder = builder(executor).parallelism(2).max_partitions(max_partitions).limits_for(limits_for);
    builder.build().expect("valid")
}

fn limits(tenants: &Tenants, key: &str) -> Limits {
    tenants.partition(key).expect("kept").limits()
}

#[test]
fn each_key_gets_its_own_limits() {
    let mut executor = executor();
    let tenants = doubled(&executor, 2);
    let _running: Vec<_> = (0..4).map(|_| tenants.key("ann").try_slot().expect("free")).collect();
    let _waiting = call(&mut executor, &tenants, "ann");
    assert_eq!(reason(&call(&mut executor, &tenants, "ann")), Reason::Saturated);
    let _others = [tenants.key("bob").try_slot().expect("free"), tenants.key("bob").try_slot().expect("free")];
    assert_eq!(
        tenants.key("bob").try_slot().expect_err("full").to_string(),
        "bulkhead tenants: saturated (2 of 2 in use, 0 of 0 waiting)"
    );
    let full = tenants.key("ann").try_slot().expect_err("full");
    assert_eq!(full.to_string(), "bulkhead tenants: saturated (4 of 4 in use, 1 of 1 waiting)");
    assert_eq!(tenants.status().each, Limits::new(2));
}

#[test]
fn an_impossible_cost_is_judged_by_the_limits_of_the_key() {
    let executor = executor();
    let tenants = doubled(&executor, 2);
    let cost = |cost| Request::new().cost(cost);
    assert_eq!(tenants.key("ann").with(cost(4)).try_slot().expect("free").cost(), 4);
    for (key, capacity) in [("ann", 4), ("cat", 4), ("bob", 2)] {
        let invalid = tenants.key(key).with(cost(capacity + 1)).try_slot().expect_err("impossible");
        assert_eq!((invalid.reason(), invalid.occupancy().capacity()), (Reason::InvalidCost, capacity), "{key}");
    }
    assert_eq!(counts(&tenants.status().totals)[..2], [3, 1]);
}

#[test]
fn a_key_with_invalid_limits_is_rejected_and_changes_nothing() {
    let mut executor = executor();
    let tenants = doubled(&executor, 1);
    touch(&tenants, "ann");
    let rejection = tenants.key("nobody").try_slot().expect_err("no capacity");
    assert_eq!(rejection.reason(), Reason::InvalidLimits);
    let invalid = rejection.as_invalid().expect("invalid limits");
    assert_eq!((invalid.field(), invalid.value().to_string()), ("parallelism", "0".to_string()));
    assert_eq!(rejection.to_string(), "bulkhead tenants: limits of a key: parallelism must be at least 1, got 0");
    assert_eq!(rejection.occupancy().capacity(), 2, "that of a new partition");
    assert_eq!(reason(&call(&mut executor, &tenants, "nobody")), Reason::InvalidLimits);
    assert_eq!(counts(&tenants.status().totals), [1, 0, 0, 0]);
    assert!(tenants.partition("ann").is_some(), "it was not evicted");
}

#[test]
fn a_reconfiguration_gives_each_key_its_own_limits() {
    let mut executor = executor();
    let tenants = doubled(&executor, 3);
    touch_each(&tenants, ["ann", "bob"]);
    let _running: Vec<_> = (0..4).map(|_| tenants.key("ann").try_slot().expect("free")).collect();
    let waiting = call(&mut executor, &tenants, "ann");
    let answer = tenants.reconfigure(Limits::new(3)).expect("valid");
    assert_eq!((answer.previous.capacity, answer.limits.capacity, answer.admitted), (2, 3, 1));
    executor.run_until_idle();
    assert!(waiting.is_finished());
    touch(&tenants, "cat");
    assert_eq!(["ann", "bob", "cat"].map(|key| limits(&tenants, key).capacity), [6, 3, 6]);
    assert_eq!(tenants.status().each, Limits::new(3));
}

#[test]
fn a_refused_reconfiguration_has_each_reason_once_and_changes_no_partition() {
    let mut executor = executor();
    let least = 4;
    let limits_for = move |key: &String, limits: Limits| match key.as_str() {
        "few" | "fewer" if limits.capacity < least => {
            limits.with_waiting_room_units(Some(1)).with_capacity(0).with_wait_limit(Some(ms(key.len() as u64)))
        }
        _ => limits,
    };
    let builder = builder(&executor).parallelism(4).waiting_room(1).max_partitions(5).limits_for(limits_for);
    let tenants = builder.build().expect("valid");
    touch_each(&tenants, ["few", "fewer", "ann"]);
    let _running = tenants.key("bob").with(Request::new().cost(4)).try_slot().expect("free");
    let _waiting = executor.spawn(tenants.key("bob").with(Request::new().cost(3)).slot());
    executor.run_until_idle();
    let (log, handler) = recorder(|event| event.kind);
    tenants.handle().add_event_handler(EventFilter::ALL, handler);
    let before = tenants.status().each;
    let error = tenants.reconfigure(Limits::new(2)).expect_err("invalid").to_string();
    let mut reasons: Vec<_> = error.split("; ").collect();
    reasons.sort_unstable();
    assert_eq!(
        reasons,
        [
            "partitions tenants: limits of a key: parallelism must be at least 1, got 0",
            "partitions tenants: limits of a key: wait_limit must not be set without a waiting room, got 3 ms",
            "partitions tenants: limits of a key: wait_limit must not be set without a waiting room, got 5 ms",
            "partitions tenants: limits of a key: waiting_room_units must not be set without a waiting room, got 1",
            "partitions tenants: parallelism must be at least 3, which a waiter asks for, got 2",
        ]
    );
    let error = tenants.reconfigure(Limits::new(0)).expect_err("invalid").to_string();
    assert_eq!(error, "partitions tenants: parallelism must be at least 3, which a waiter asks for, got 0");
    assert_eq!(taken(&log), [], "not even for a moment");
    assert!(["few", "fewer", "ann", "bob"].iter().all(|key| limits(&tenants, key) == before));
}

#[test]
fn a_panic_of_the_function_changes_nothing() {
    let executor = executor();
    let (panics, calls) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let limits_for = {
        let (panics, calls) = (Arc::clone(&panics), Arc::clone(&calls));
        move |_: &String, limits: Limits| {
            calls.fetch_add(1, SeqCst);
            assert!(!panics.load(SeqCst), "on purpose");
            limits
        }
    };
    let builder = builder(&executor).parallelism(1).max_partitions(1).limits_for(limits_for);
    let tenants = builder.build().expect("valid");
    touch_each(&tenants, ["ann", "ann"]);
    assert_eq!(calls.load(SeqCst), 1, "once for each partition");
    panics.store(true, SeqCst);
    assert!(catch_unwind(AssertUnwindSafe(|| tenants.key("bob").try_slot().is_ok())).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| tenants.reconfigure(Limits::new(2)).is_ok())).is_err());
    assert_eq!(counts(&tenants.status().totals), [1, 0, 0, 0]);
    assert_eq!((tenants.status().each, limits(&tenants, "ann")), (Limits::new(1), Limits::new(1)));
    assert_eq!(tenants.status().leased_operations, 0);
    panics.store(false, SeqCst);
    tenants.reconfigure(Limits::new(2)).expect("valid");
    touch(&tenants, "bob");
}
