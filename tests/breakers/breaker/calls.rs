//! How calls end, and the counts of the breaker then.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use bulklink::testing::{Executor, FakeClock};
use bulklink_breaker::{BreakerError, BreakerTotals, Health, Outcome, Settings, State};

use super::{admitted, breaker, builder, ms, state, two_in_a_row};

#[test]
fn each_end_is_counted_once() {
    let breaker = breaker(&FakeClock::new(), Settings::of_last(100).failures(100));
    admitted(&breaker).succeed();
    admitted(&breaker).fail();
    admitted(&breaker).ignore();
    for outcome in [Outcome::Success, Outcome::Failure, Outcome::Ignore] {
        admitted(&breaker).settle(outcome);
    }
    drop(admitted(&breaker));
    let totals = breaker.status().totals;
    assert_eq!((totals.successes, totals.failures, totals.ignored, totals.cancelled), (2, 2, 2, 1));
    assert_eq!((totals.ended(), totals.stale, totals.rejected), (7, 0, 0));
    let counts = breaker.status().circuit.counts;
    assert_eq!((counts.calls, counts.failures), (4, 2));
    admitted(&breaker).succeed();
    let later = breaker.status().totals.since(&totals);
    assert_eq!((later.successes, later.ended()), (1, 1));
}

#[test]
fn a_dropped_call_counts_for_neither_side() {
    let breaker = breaker(&FakeClock::new(), two_in_a_row());
    for _ in 0..10 {
        drop(admitted(&breaker));
    }
    assert_eq!(state(&breaker), State::Closed);
    assert_eq!((breaker.status().totals.cancelled, breaker.status().circuit.counts.calls), (10, 0));
}

#[test]
fn dropped_calls_can_count_as_failures() {
    let builder = builder(&FakeClock::new(), two_in_a_row()).count_cancelled(true);
    let breaker = builder.build().expect("valid settings");
    drop(admitted(&breaker));
    drop(admitted(&breaker));
    assert_eq!(state(&breaker), State::Open);
    assert_eq!((breaker.status().totals.cancelled, breaker.status().totals.failures), (2, 0));
}

#[test]
fn a_call_that_was_slow_already_counts_as_slow_when_it_is_dropped() {
    let clock = FakeClock::new();
    let breaker = breaker(&clock, Settings::of_last(10).slow_calls(ms(5), 2));
    for wait in [4, 5, 6] {
        assert_eq!(state(&breaker), State::Closed);
        let call = admitted(&breaker);
        clock.advance(ms(wait));
        drop(call);
    }
    assert_eq!(state(&breaker), State::Open);
    assert_eq!((breaker.status().totals.slow, breaker.status().totals.cancelled), (2, 3));
}

#[test]
fn a_call_that_ends_after_a_transition_is_stale() {
    let breaker = breaker(&FakeClock::new(), two_in_a_row());
    let late = [(); 4].map(|()| admitted(&breaker));
    breaker.force_open();
    let [succeeds, fails, ignored, dropped] = late;
    succeeds.succeed();
    fails.fail();
    ignored.ignore();
    drop(dropped);
    assert_eq!(breaker.status().circuit.generation, 1);
    let totals = breaker.status().totals;
    assert_eq!((totals.stale, totals.ended()), (4, 4));
}

/// A success needs no lock while the circuit is as it was. This one is not.
#[test]
fn a_success_from_before_a_reset_is_stale() {
    let breaker = breaker(&FakeClock::new(), two_in_a_row());
    let late = admitted(&breaker);
    breaker.force_closed();
    late.succeed();
    assert_eq!((breaker.status().totals.stale, breaker.status().totals.successes), (1, 1));
}

/// In each state of the circuit, a dropped call leaves nothing behind.
#[test]
fn a_drop_is_complete_in_every_state() {
    let clock = FakeClock::new();
    let breaker = breaker(&clock, two_in_a_row());
    drop(admitted(&breaker));
    let before = [(); 3].map(|()| admitted(&breaker));
    let [first, second, third] = before;
    first.fail();
    drop(second);
    assert_eq!(state(&breaker), State::Closed);
    admitted(&breaker).fail();
    assert_eq!(state(&breaker), State::Open);
    drop(third);
    clock.advance(ms(10));
    // A probe that is dropped makes room for the next, and decides nothing.
    for _ in 0..5 {
        let probe = admitted(&breaker);
        assert!(probe.is_probe());
        breaker.admit().expect_err("one probe at once");
        drop(probe);
        assert_eq!(state(&breaker), State::HalfOpen);
    }
    let probe = admitted(&breaker);
    breaker.force_open();
    drop(probe);
    assert_eq!(state(&breaker), State::Open);
    let totals = breaker.status().totals;
    assert_eq!((totals.cancelled, totals.failures, totals.probes, totals.rejected), (9, 2, 6, 5));
    assert_eq!((totals.ended(), totals.stale), (11, 2));
}

#[test]
fn a_panic_is_a_failure() {
    let breaker = breaker(&FakeClock::new(), two_in_a_row());
    for _ in 0..2 {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _call = admitted(&breaker);
            panic!("an operation that panics, on purpose");
        }));
        panicked.expect_err("it panics");
    }
    assert_eq!(state(&breaker), State::Open);
    assert_eq!((breaker.status().totals.panicked, breaker.status().totals.failures), (2, 2));
}

#[test]
fn a_panic_of_a_closure_is_a_failure_and_goes_on() {
    let breaker = breaker(&FakeClock::new(), Settings::consecutive(1));
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        breaker.blocking_execute(|| -> Result<(), ()> { std::panic::panic_any("the payload") })
    }));
    assert_eq!(panicked.expect_err("it panics").downcast_ref(), Some(&"the payload"));
    assert_eq!(breaker.health(), Health::Isolated);
}

#[test]
fn a_panic_of_a_future_is_a_failure() {
    let mut executor = Executor::new(FakeClock::new());
    let breaker = breaker(&executor.clock(), Settings::consecutive(1));
    let own = breaker.clone();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        executor.block_on(async move {
            let operation = async { panic!("an operation that panics, on purpose") };
            own.execute::<(), (), _>(operation).await
        })
    }));
    panicked.expect_err("it panics");
    assert_eq!(breaker.status().totals.panicked, 1);
}

/// Runs closures while its thread panics.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// A destructor that runs during a panic may make calls: that panic is not theirs.
#[test]
fn a_call_on_a_thread_that_panics_already_has_not_panicked() {
    let breaker = Arc::new(breaker(&FakeClock::new(), Settings::of_last(10).failures(2)));
    let own = Arc::clone(&breaker);
    let panicked = thread::spawn(move || {
        let _guard = OnDrop(|| {
            drop(admitted(&own));
            admitted(&own).succeed();
            own.blocking_execute(|| Ok::<_, ()>(())).expect("closed");
            own.blocking_execute(|| Err::<(), _>("fails")).expect_err("it fails");
        });
        panic!("a thread that panics, on purpose");
    });
    panicked.join().expect_err("it panics");
    let totals = breaker.status().totals;
    assert_eq!((totals.panicked, totals.cancelled, totals.successes, totals.failures), (0, 1, 2, 1));
}

#[test]
fn a_future_that_is_dropped_was_cancelled_also_on_a_thread_that_panics() {
    let mut executor = Executor::new(FakeClock::new());
    let breaker = breaker(&executor.clock(), Settings::consecutive(1));
    let (own, pending) = (breaker.clone(), std::future::pending::<Result<(), ()>>());
    drop(executor.spawn(async move { own.execute(pending).await }));
    executor.run_until_idle();
    let panicked = catch_unwind(AssertUnwindSafe(move || {
        let _dropped_by_the_panic = executor;
        panic!("a thread that panics, on purpose");
    }));
    panicked.expect_err("it panics");
    assert_eq!((breaker.status().totals.cancelled, breaker.status().totals.panicked), (1, 0));
    assert_eq!(state(&breaker), State::Closed);
}

#[test]
fn an_operation_is_not_polled_while_the_circuit_is_open() {
    let mut executor = Executor::new(FakeClock::new());
    let breaker = breaker(&executor.clock(), two_in_a_row());
    breaker.force_open();
    let result = executor.block_on(async move { breaker.execute::<(), (), _>(async { unreachable!() }).await });
    let Err(BreakerError::Open(open)) = result else { panic!("it ran") };
    assert_eq!((open.state, open.retry_after), (State::Open, None));
    assert_eq!(open.to_string(), "breaker test: the circuit is open until it is closed by hand");
}

#[test]
fn a_rejection_says_when_to_try_again() {
    let clock = FakeClock::new();
    let breaker = breaker(&clock, two_in_a_row().probe_lease(ms(40)));
    admitted(&breaker).fail();
    admitted(&breaker).fail();
    clock.advance(ms(3));
    let open = breaker.admit().expect_err("open");
    assert_eq!((open.state, open.retry_after), (State::Open, Some(ms(7))));
    assert_eq!(breaker.check().expect_err("open"), open);
    clock.advance(ms(7));
    let probe = admitted(&breaker);
    clock.advance(ms(15));
    let busy = breaker.admit().expect_err("one probe at once");
    assert_eq!((busy.state, busy.retry_after), (State::HalfOpen, None), "its end decides");
    assert_eq!(breaker.check().expect_err("one probe at once"), busy);
    drop(probe);
    breaker.check().expect("there is room for a probe");
    breaker.check().expect("asking does not take it");
    assert_eq!(breaker.status().totals.rejected, 4);
}

#[test]
fn the_counters_of_a_new_breaker_are_zero() {
    assert_eq!(breaker(&FakeClock::new(), Settings::default()).status().totals, BreakerTotals::default());
}
