//! The capacity of the bulkhead while the circuit is not closed.

use bulklink::Request;
use bulklink_breaker::{Breaker, Guard, Settings, State};

use crate::{builder, bulkhead, call, ended, executor, ms, open, running, state, trip, waiting};

fn capacity<R, K>(guard: &Guard<R, K>) -> usize {
    guard.bulkhead().limits().capacity
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
fn a_bulkhead_that_others_have_resized_is_left_as_it_is() {
    let executor = executor();
    let guard = builder(&bulkhead(executor.runtime(), 10, 5)).half_open_capacity(2).build().expect("valid settings");
    guard.breaker().force_open();
    guard.bulkhead().resize(5).expect("valid");
    guard.breaker().force_closed();
    assert_eq!(capacity(&guard), 5);
    guard.breaker().force_open();
    assert_eq!(capacity(&guard), 2);
    guard.breaker().force_closed();
    assert_eq!(capacity(&guard), 5);
}

#[test]
fn a_bulkhead_that_is_smaller_already_stays_so() {
    let executor = executor();
    let guard = builder(&bulkhead(executor.runtime(), 10, 5)).half_open_capacity(2).build().expect("valid settings");
    guard.bulkhead().resize(1).expect("valid");
    guard.breaker().force_open();
    assert_eq!(capacity(&guard), 1);
    guard.breaker().force_closed();
    assert_eq!(capacity(&guard), 1);
}

#[test]
fn a_guard_that_is_dropped_while_it_is_open_gives_the_capacity_back() {
    let executor = executor();
    let bulkhead = bulkhead(executor.runtime(), 10, 5);
    let guard = builder(&bulkhead).half_open_capacity(2).build().expect("valid settings");
    let clone = guard.clone();
    guard.breaker().force_open();
    drop(guard);
    assert_eq!(bulkhead.limits().capacity, 2);
    drop(clone);
    assert_eq!(bulkhead.limits().capacity, 10);
}

/// A bulkhead refuses to be smaller than a call that waits. That call leaves the queue when the
/// circuit opens, but not before the bulkhead was to be resized.
#[test]
fn a_heavy_call_in_the_queue_only_delays_it() {
    let mut executor = executor();
    let bulkhead = bulkhead(executor.runtime(), 10, 5);
    let guard = builder(&bulkhead).half_open_capacity(2).build().expect("valid settings");
    let first = running(&mut executor, &guard);
    let own = guard.clone();
    let heavy =
        executor.spawn(async move { own.execute_with(Request::new().cost(10), async { panic!("it ran") }).await });
    executor.run_until_idle();
    trip(&guard);
    executor.run_until_idle();
    open::<()>(ended(&heavy));
    executor.advance(ms(10));
    let probe = running(&mut executor, &guard);
    assert_eq!((capacity(&guard), state(&guard)), (2, State::HalfOpen));
    first.cancel();
    probe.cancel();
    ended(&call(&mut executor, &guard, async { Ok("works") })).expect("a probe");
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

#[test]
fn an_impossible_capacity_is_refused() {
    let executor = executor();
    let bulkhead = bulkhead(executor.runtime(), 10, 5);
    for capacity in [0, 11, usize::MAX] {
        let refused = builder(&bulkhead).half_open_capacity(capacity).build().expect_err("impossible");
        assert_eq!(refused.name(), "half_open_capacity");
    }
    builder(&bulkhead).half_open_capacity(10).build().expect("valid settings");
}
