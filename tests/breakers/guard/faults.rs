//! Faults of other policies of bulkhead and breaker, foremost Bulkman's: that each is absent here.
//! `breaker/faults.rs` has those of the breaker alone; `queue.rs`, `run_limit.rs` and
//! `closures.rs` have those that stand beside their subject.

use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::thread;

use bulklink::testing::Task;
use bulklink_breaker::{Breaker, Guard, GuardError, Health, Settings, State};

use super::{builder, bulkhead, call, ended, executor, guard, is_idle, ms, open, running, state, trip, waiting};

/// Bulkman: cancelled calls never reach the breaker, so a dependency with callers that all give up
/// stays "healthy".
#[test]
fn cancelled_calls_reach_the_breaker() {
    let mut executor = executor();
    let bulkhead = bulkhead(executor.runtime(), 2, 0);
    let guard = builder(&bulkhead).count_cancelled(true).build().expect("valid settings");
    [(); 2].map(|()| running(&mut executor, &guard)).iter().for_each(Task::cancel);
    assert_eq!((guard.breaker().status().totals.cancelled, state(&guard)), (2, State::Open));
    is_idle(&guard);
}

/// The same without that setting: of a gone client, only the time of its call counts.
#[test]
fn calls_that_are_cancelled_when_they_were_slow_reach_the_breaker() {
    let mut executor = executor();
    let bulkhead = bulkhead(executor.runtime(), 2, 0);
    let settings = Settings::of_last(10).slow_calls(ms(50), 2);
    let guard = Guard::builder(&bulkhead).settings(settings).build().expect("valid settings");
    running(&mut executor, &guard).cancel();
    assert_eq!(guard.breaker().status().circuit.counts.calls, 0);
    let both = [(); 2].map(|()| running(&mut executor, &guard));
    executor.advance(ms(50));
    both.iter().for_each(Task::cancel);
    assert_eq!(state(&guard), State::Open);
}

/// Bulkman: probes without a bound.
#[test]
fn probes_are_bounded_by_the_circuit_and_not_by_the_bulkhead() {
    let mut executor = executor();
    let bulkhead = bulkhead(executor.runtime(), 100, 100);
    let settings = Settings::consecutive(1).probes(2).close_after(10);
    let guard = Guard::builder(&bulkhead).settings(settings).build().expect("valid settings");
    trip_once(&guard);
    executor.advance(settings_cool_down());
    let calls = [(); 20].map(|()| running(&mut executor, &guard));
    assert_eq!(guard.bulkhead().status().in_flight, 2);
    assert_eq!(calls.iter().filter(|call| call.is_finished()).count(), 18);
}

fn trip_once<R>(guard: &Guard<R>) {
    guard.breaker().admit().expect("closed").fail();
}

fn settings_cool_down() -> std::time::Duration {
    std::time::Duration::from_secs(30)
}

/// Bulkman: the health stays bad after the cool-down until traffic comes.
#[test]
fn the_health_needs_no_traffic() {
    let mut executor = executor();
    let guard = guard(&executor, 1, 0);
    assert_eq!(guard.health(), Health::Healthy);
    trip(&guard);
    executor.advance(ms(9));
    assert_eq!(guard.health(), Health::Isolated);
    executor.advance(ms(1));
    assert_eq!((guard.health(), guard.breaker().status().totals.probes), (Health::Degraded, 0));
}

/// Bulkman: a result from before the trip closes the circuit.
#[test]
fn a_stale_success_does_not_close_the_circuit() {
    let mut executor = executor();
    let guard = guard(&executor, 2, 0);
    let sleep = executor.clock().sleep(ms(15));
    let slow = call(&mut executor, &guard, async move {
        sleep.await;
        Ok("late")
    });
    trip(&guard);
    executor.advance(ms(10));
    let probe = running(&mut executor, &guard);
    executor.advance(ms(5));
    assert_eq!((ended(&slow).ok(), state(&guard)), (Some("late"), State::HalfOpen));
    probe.cancel();
    assert_eq!(state(&guard), State::HalfOpen);
}

/// Bulkman: zero limits are accepted.
#[test]
fn impossible_settings_are_refused_when_the_guard_is_built() {
    let executor = executor();
    let bulkhead = bulkhead(executor.runtime(), 1, 0);
    let refused = |settings| Guard::builder(&bulkhead).settings(settings).build().expect_err("impossible");
    assert_eq!(refused(Settings::consecutive(0)).field(), "window");
    assert_eq!(refused(Settings::consecutive(1).probes(0)).field(), "probes");
    assert_eq!(refused(Settings::consecutive(1).cool_down(ms(0))).field(), "cool_down");
}

#[test]
fn the_settings_of_a_breaker_that_is_passed_are_refused() {
    let executor = executor();
    let bulkhead = bulkhead(executor.runtime(), 1, 0);
    let breaker = Breaker::builder_on(executor.clock(), "shared").build().expect("valid settings");
    let with_breaker = || Guard::builder(&bulkhead).breaker(&breaker);
    with_breaker().build().expect("the breaker has its own");
    for (builder, name) in [
        (with_breaker().settings(Settings::default()), "settings"),
        (with_breaker().count_cancelled(false), "count_cancelled"),
    ] {
        let text = format!("{name} must not be set beside breaker, got both");
        assert_eq!(builder.build().expect_err("the breaker has its own").to_string(), text);
    }
}

/// safe-client-gateway #3442 behind a guard, on threads: all callers come back at once when the
/// cool-down is over, and the dependency gets one call.
#[test]
fn a_rush_after_the_cool_down_reaches_the_dependency_once() {
    const THREADS: usize = 16;
    let clock = bulklink::testing::FakeClock::new();
    let guard = &builder(&bulkhead(clock.clone(), THREADS, 100)).build().expect("valid settings");
    trip(guard);
    let reached = Arc::new(AtomicUsize::new(0));
    for round in 1..=50 {
        clock.advance(ms(10));
        let barrier = &Barrier::new(THREADS);
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    barrier.wait();
                    guard.blocking_execute(|| {
                        reached.fetch_add(1, SeqCst);
                        Err::<(), _>("still down")
                    })
                });
            }
        });
        assert_eq!(reached.load(SeqCst), round);
    }
    is_idle(guard);
}

/// The errors can be distinguished.
#[test]
fn each_reason_has_its_own_error() {
    let mut executor = executor();
    let bulkhead = bulkhead(executor.runtime(), 1, 1);
    let guard = builder(&bulkhead).run_limit(ms(100)).build().expect("valid settings");
    let failing = call(&mut executor, &guard, async { Err::<(), _>("fails") });
    let Err(own) = ended(&failing) else { panic!("it fails") };
    assert_eq!(
        (own.has_not_begun(), own.to_string(), own.operation()),
        (false, "the operation failed".to_owned(), Some("fails"))
    );
    let slow = call::<(), _>(&mut executor, &guard, pending());
    let queued = waiting(&mut executor, &guard);
    let Err(full) = ended(&waiting(&mut executor, &guard)) else { panic!("it is full") };
    assert!(matches!(full, GuardError::Rejected(_)) && full.has_not_begun());
    executor.advance(ms(100));
    let Err(timed_out) = ended(&slow) else { panic!("it is slow") };
    assert!(matches!(timed_out, GuardError::TimedOut(_)) && !timed_out.has_not_begun());
    assert_eq!(open(ended(&queued)).retry_after, Some(ms(10)));
    let Err(open) = ended(&waiting(&mut executor, &guard)) else { panic!("it is open") };
    assert!(open.has_not_begun());
    let GuardError::Open(cause) = &open else { panic!("it is open") };
    assert_eq!(cause.to_string(), "breaker test: the circuit is open for another 10.0ms");
    assert_eq!((open.to_string(), open.operation()), ("the circuit is open".into(), None));
}
