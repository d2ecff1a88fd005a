//! The capacity of the bulkhead while the circuit is not closed.

use bulklink::config::Config;
use bulklink::{Bulkhead, EventFilter, Registry, Request};
use bulklink_breaker::{Breaker, Guard, Settings, State};

use super::{builder, bulkhead, call, ended, executor, limits, ms, open, running, state, trip, waiting};

fn capacity<R, K>(guard: &Guard<R, K>) -> usize {
    assert_eq!(guard.bulkhead().limits().capacity, 10, "the capacity itself stays");
    guard.bulkhead().status().effective_capacity()
}

/// semian #247: a dependency that recovers gets its full load back with the first probe.
#[test]
fn the_capacity_is_smaller_from_opening_until_closing() {
    let mut executor = executor();
    let guard = builder(&bulkhead(executor.runtime(), 10, 5)).half_open_capacity(2).build().expect("valid settings");
    let before = [(); 3].map(|()| running(&mut executor, &guard));
    assert_eq!(capacity(&guard), 10);
    trip(&guard);
    assert_eq!(capacity(&guard), 2);
    executor.advance(ms(10));
    // Three operations of before still run, so no probe begins.
    let probe = call(&mut executor, &guard, async { Ok("works") });
    assert!(!probe.is_finished());
    before.iter().for_each(bulklink::testing::Task::cancel);
    executor.run_until_idle();
    assert!(ended(&probe).is_ok());
    assert_eq!((capacity(&guard), state(&guard)), (10, State::Closed));
}

#[test]
fn the_capacity_stays_small_while_probes_fail() {
    let mut executor = executor();
    let guard = builder(&bulkhead(executor.runtime(), 10, 5)).half_open_capacity(2).build().expect("valid settings");
    trip(&guard);
    for _ in 0..3 {
        executor.advance(ms(10));
        let probe = call(&mut executor, &guard, async { Err::<(), _>("fails") });
        ended(&probe).expect_err("it fails");
        assert_eq!(capacity(&guard), 2);
    }
    guard.breaker().force_closed();
    assert_eq!(capacity(&guard), 10);
}

#[test]
fn a_change_of_the_capacity_takes_effect_whatever_the_circuit_does() {
    let executor = executor();
    let guard = builder(&bulkhead(executor.runtime(), 10, 5)).half_open_capacity(2).build().expect("valid settings");
    let effective = || guard.bulkhead().status().effective_capacity();
    guard.breaker().force_open();
    // Also to exactly the smaller capacity, and below it.
    for (resized, opened) in [(5, 2), (2, 2), (1, 1), (4, 2)] {
        guard.bulkhead().resize(resized).expect("valid");
        assert_eq!(effective(), opened);
        guard.breaker().force_closed();
        assert_eq!((effective(), guard.bulkhead().limits().capacity), (resized, resized));
        guard.breaker().force_open();
        assert_eq!(effective(), opened);
    }
}

#[test]
fn a_configuration_that_is_applied_does_not_lift_it() {
    let executor = executor();
    let bulkhead = bulkhead(executor.runtime(), 10, 5);
    let registry = Registry::new();
    registry.add(&bulkhead).expect("a new label");
    let guard = builder(&bulkhead).half_open_capacity(2).build().expect("valid settings");
    guard.breaker().force_open();
    let mut config = Config::default();
    let section = config.bulkheads.entry("test".into()).or_default();
    (section.parallelism, section.waiting_room) = (Some(20), Some(5));
    registry.apply(&config, &executor.runtime()).expect("valid");
    assert_eq!((bulkhead.limits().capacity, bulkhead.status().effective_capacity()), (20, 2));
    guard.breaker().force_closed();
    assert_eq!(bulkhead.status().effective_capacity(), 20);
}

#[test]
fn the_least_of_several_guards_counts() {
    let executor = executor();
    let bulkhead = bulkhead(executor.runtime(), 10, 5);
    let [two, four] = [2, 4].map(|units| builder(&bulkhead).half_open_capacity(units).build().expect("valid settings"));
    let effective = || bulkhead.status().effective_capacity();
    four.breaker().force_open();
    assert_eq!(effective(), 4);
    two.breaker().force_open();
    assert_eq!(effective(), 2);
    four.breaker().force_closed();
    assert_eq!(effective(), 2);
    four.breaker().force_open();
    two.breaker().force_closed();
    assert_eq!(effective(), 4);
    drop(four);
    assert_eq!(effective(), 10);
}

#[test]
fn a_guard_that_is_dropped_while_it_is_open_gives_the_capacity_back() {
    let executor = executor();
    let bulkhead = bulkhead(executor.runtime(), 10, 5);
    let guard = builder(&bulkhead).half_open_capacity(2).build().expect("valid settings");
    let clone = guard.clone();
    guard.breaker().force_open();
    drop(guard);
    assert_eq!(bulkhead.status().effective_capacity(), 2);
    drop(clone);
    assert_eq!(bulkhead.status().effective_capacity(), 10);
}

/// A call that costs more than the ceiling, and comes past the guard, stands before the probes. It
/// must not hold them up for good.
#[test]
fn a_heavy_call_in_the_queue_runs_alone() {
    let mut executor = executor();
    let bulkhead = bulkhead(executor.runtime(), 10, 5);
    let guard = builder(&bulkhead).half_open_capacity(2).build().expect("valid settings");
    let first = running(&mut executor, &guard);
    let past = bulkhead.clone();
    let heavy = executor.spawn(async move { past.with(Request::new().cost(10)).slot().await });
    trip(&guard);
    executor.advance(ms(10));
    let probe = running(&mut executor, &guard);
    assert!(!heavy.is_finished() && !probe.is_finished());
    first.cancel();
    executor.run_until_idle();
    assert!(heavy.is_finished() && !probe.is_finished());
    assert_eq!(bulkhead.status().in_use, 10);
    drop(heavy.output());
    executor.run_until_idle();
    assert_eq!(bulkhead.status().in_use, 1, "the probe");
    probe.cancel();
    ended(&call(&mut executor, &guard, async { Ok("works") })).expect("a probe");
    assert_eq!((capacity(&guard), state(&guard)), (10, State::Closed));
}

#[test]
fn a_heavy_probe_runs_alone() {
    let mut executor = executor();
    let guard = builder(&bulkhead(executor.runtime(), 10, 5)).half_open_capacity(2).build().expect("valid settings");
    trip(&guard);
    executor.advance(ms(10));
    let own = guard.clone();
    let heavy =
        executor.spawn(async move { own.with(Request::new().cost(10)).execute(async { Ok::<_, &str>(()) }).await });
    executor.run_until_idle();
    ended(&heavy).expect("a probe");
    assert_eq!((capacity(&guard), state(&guard)), (10, State::Closed));
}

#[test]
fn a_circuit_that_is_open_when_the_guard_is_built_counts_too() {
    let mut executor = executor();
    let breaker = Breaker::builder_on(executor.clock(), "shared").settings(Settings::consecutive(1)).build();
    let breaker = breaker.expect("valid settings");
    breaker.force_open();
    let bulkhead = bulkhead(executor.runtime(), 10, 5);
    let guard = Guard::builder(&bulkhead).breaker(&breaker).half_open_capacity(2).build().expect("valid settings");
    assert_eq!(capacity(&guard), 2);
    open(ended(&waiting(&mut executor, &guard)));
    breaker.force_closed();
    assert_eq!(capacity(&guard), 10);
}

/// The bulkhead's handlers get the effects of a ceiling, and no lock is held meanwhile.
#[test]
fn a_handler_of_the_bulkhead_may_change_the_circuit_while_the_guard_is_built() {
    let mut executor = executor();
    let breaker = Breaker::builder_on(executor.clock(), "shared").settings(Settings::consecutive(1)).build();
    let breaker = breaker.expect("valid settings");
    breaker.force_open();
    let bulkhead = limits(Bulkhead::builder_on(executor.runtime(), "test").wait_limit(ms(50)), 2, 5);
    let _running = [(); 2].map(|()| bulkhead.try_slot().expect("free"));
    let late = executor.spawn(bulkhead.owned().slot());
    executor.run_until_idle();
    // No task runs before the guard is built, so its expiry is seen there.
    executor.clock().advance(ms(50));
    bulkhead.handle().add_event_handler(EventFilter::ALL, {
        let breaker = breaker.clone();
        move |_| breaker.force_closed()
    });
    let guard = Guard::builder(&bulkhead).breaker(&breaker).half_open_capacity(1).build().expect("valid settings");
    assert_eq!((state(&guard), bulkhead.status().effective_capacity()), (State::Closed, 2));
    executor.run_until_idle();
    assert!(late.output().expect("it has expired").is_err());
}

#[test]
fn an_impossible_capacity_is_refused() {
    let executor = executor();
    let bulkhead = bulkhead(executor.runtime(), 10, 5);
    for capacity in [0, 11, usize::MAX] {
        let refused = builder(&bulkhead).half_open_capacity(capacity).build().expect_err("impossible");
        assert_eq!(refused.field(), "half_open_capacity");
    }
    builder(&bulkhead).half_open_capacity(10).build().expect("valid settings");
}
