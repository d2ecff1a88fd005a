//! The limit on the run of an operation.

use std::future::pending;
use std::time::Duration;

use bulklink_breaker::{Guard, GuardError, Settings, State};

use super::by_hand::{ByHand, Treatment};
use super::{Log, OnDrop, TestGuard, builder, bulkhead, call, ended, executor, is_idle, ms, state};

fn guard(executor: &bulklink::testing::Executor, parallelism: usize) -> TestGuard {
    builder(&bulkhead(executor.runtime(), parallelism, 5)).run_limit(ms(100)).build().expect("valid settings")
}

#[test]
fn an_operation_ends_exactly_at_its_limit() {
    let mut executor = executor();
    let guard = guard(&executor, 1);
    let slow = call::<(), _>(&mut executor, &guard, pending());
    executor.advance(Duration::from_nanos(99_999_999));
    assert!(!slow.is_finished());
    executor.advance(Duration::from_nanos(1));
    let Err(GuardError::TimedOut(timed_out)) = ended(&slow) else { panic!("it did not time out") };
    assert_eq!((&*timed_out.label, timed_out.limit), ("test", ms(100)));
    assert_eq!(timed_out.to_string(), "guard test: the operation ran for longer than 100ms");
    is_idle(&guard);
}

/// Bulkman: timeouts never reach the breaker.
#[test]
fn a_timeout_is_a_failure() {
    let mut executor = executor();
    let guard = guard(&executor, 2);
    let both = [(); 2].map(|()| call::<(), _>(&mut executor, &guard, pending()));
    executor.advance(ms(100));
    for slow in &both {
        assert!(matches!(ended(slow), Err(GuardError::TimedOut(_))));
    }
    let totals = guard.breaker().status().totals;
    assert_eq!((totals.timed_out, totals.failures, totals.cancelled, totals.ended()), (2, 2, 0, 2));
    assert_eq!(state(&guard), State::Open);
}

#[test]
fn the_wait_for_a_slot_is_not_part_of_it() {
    let mut executor = executor();
    let guard = guard(&executor, 1);
    let slot = guard.bulkhead().owned().try_slot().expect("free");
    let clock = executor.clock();
    let waiting = call(&mut executor, &guard, async move {
        clock.sleep(ms(99)).await;
        Ok("in time")
    });
    executor.advance(ms(1000));
    drop(slot);
    executor.advance(ms(99));
    assert_eq!(ended(&waiting).ok(), Some("in time"));
}

/// The operation and the limit are over in the same poll.
#[test]
fn a_result_at_the_limit_wins() {
    let mut executor = executor();
    let guard = guard(&executor, 2);
    let sleep = executor.clock().sleep(ms(100));
    let in_time = call(&mut executor, &guard, async move {
        sleep.await;
        Ok("at the limit")
    });
    executor.advance(ms(100));
    assert_eq!(ended(&in_time).ok(), Some("at the limit"));
    // The same if the task is not polled until later.
    let sleep = executor.clock().sleep(ms(50));
    let late = call(&mut executor, &guard, async move {
        sleep.await;
        Ok("in time")
    });
    executor.clock().advance(ms(1000));
    executor.run_until_idle();
    assert_eq!(ended(&late).ok(), Some("in time"));
    assert_eq!(guard.breaker().status().totals.timed_out, 0);
}

#[test]
fn an_operation_that_is_over_needs_no_timer() {
    let mut executor = executor();
    let guard = guard(&executor, 1);
    ended(&call(&mut executor, &guard, async { Ok(()) })).expect("it works");
    assert_eq!(executor.clock().next_timer(), None);
}

/// A timer that completes early does not end the operation: the clock decides.
#[test]
fn a_timer_that_is_early_is_made_again() {
    let mut executor = executor();
    let runtime = ByHand::new(&executor, Treatment::Keep).early(ms(30));
    let guard = builder(&bulkhead(runtime, 1, 0)).run_limit(ms(100)).build().expect("valid settings");
    let own = guard.clone();
    let slow = executor.spawn(async move { own.execute::<(), &str, _>(pending()).await });
    executor.advance(ms(99));
    assert!(!slow.is_finished());
    assert!(executor.clock().next_timer().is_some());
    executor.advance(ms(1));
    assert!(matches!(ended(&slow), Err(GuardError::TimedOut(_))));
}

/// When the slot is free, nothing of the operation runs any more.
#[test]
fn the_operation_is_dropped_before_its_slot_is_free() {
    let mut executor = executor();
    let guard = guard(&executor, 1);
    let log = Log::default();
    for ends in ["times out", "is dropped", "returns", "panics"] {
        let (bulkhead, inside) = (guard.bulkhead().handle().clone(), log.clone());
        let dropped = OnDrop(move || {
            let is_held = bulkhead.status().in_flight == 1;
            inside.note(if is_held { "dropped in the slot" } else { "dropped later" });
        });
        let operation = async move {
            let _dropped = dropped;
            match ends {
                "returns" => Ok(()),
                "panics" => panic!("an operation that panics, on purpose"),
                _ => pending().await,
            }
        };
        let own = guard.clone();
        let task = executor.spawn(async move { own.execute::<(), &str, _>(operation).await });
        let polled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| executor.run_until_idle()));
        assert_eq!(polled.is_err(), ends == "panics");
        if ends == "times out" {
            executor.advance(ms(100));
        }
        task.cancel();
        is_idle(&guard);
        guard.breaker().force_closed();
    }
    assert_eq!(log.all(), ["dropped in the slot"; 4]);
}

/// An operation that takes too long is slow as well.
#[test]
fn a_timeout_can_be_slow() {
    let mut executor = executor();
    let bulkhead = bulkhead(executor.runtime(), 1, 0);
    let settings = Settings::of_last(10).slow_calls(ms(50), 2);
    let guard = Guard::builder(&bulkhead).settings(settings).run_limit(ms(100)).build().expect("valid settings");
    for _ in 0..2 {
        let slow = call::<(), _>(&mut executor, &guard, pending());
        executor.advance(ms(100));
        assert!(slow.is_finished());
    }
    assert_eq!((state(&guard), guard.breaker().status().totals.slow), (State::Open, 2));
}

#[test]
fn an_impossible_limit_is_refused() {
    let executor = executor();
    let bulkhead = bulkhead(executor.runtime(), 1, 0);
    for limit in [Duration::ZERO, Duration::MAX] {
        assert_eq!(builder(&bulkhead).run_limit(limit).build().expect_err("impossible").field(), "run_limit");
    }
    let longest = Duration::from_secs(100 * 365 * 86_400);
    let guard = builder(&bulkhead).run_limit(longest).build().expect("valid settings");
    assert_eq!(guard.run_limit(), Some(longest));
}
