//! Panics of operations and classifiers.

use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use bulklink::testing::FakeRuntime;
use bulklink_breaker::{Guard, GuardError, Settings, State};

use super::{OnDrop, builder, bulkhead, call, ended, executor, guard, is_idle, ms, running, state};

type Caller = Arc<Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>>;
type Panics = fn(&Result<(), &'static str>) -> bulklink_breaker::Outcome;

/// A guard with a classifier that panics.
fn unclassified(executor: &bulklink::testing::Executor) -> Guard<FakeRuntime, Panics> {
    let classify: Panics = |_| panic_any("a classifier that panics, on purpose");
    let bulkhead = bulkhead(executor.runtime(), 1, 5);
    let settings = Settings::consecutive(1).cool_down(ms(10));
    Guard::builder(&bulkhead).settings(settings).classify(classify).build().expect("valid settings")
}

/// Runs it, and returns the text of its panic.
fn panic_of<T>(run: impl FnOnce() -> T) -> &'static str {
    let Err(payload) = catch_unwind(AssertUnwindSafe(run)) else { panic!("it did not panic") };
    payload.downcast_ref::<&'static str>().expect("a text")
}

#[test]
fn a_panic_of_an_operation_is_a_failure() {
    let mut executor = executor();
    let guard = guard(&executor, 1, 5);
    for _ in 0..2 {
        let own = guard.clone();
        let operation = async { panic_any("an operation that panics, on purpose") };
        let text = panic_of(|| executor.block_on(async move { own.execute::<(), (), _>(operation).await }));
        assert_eq!(text, "an operation that panics, on purpose");
        is_idle(&guard);
    }
    assert_eq!((guard.breaker().status().totals.panicked, state(&guard)), (2, State::Open));
}

#[test]
fn a_panic_of_a_closure_reaches_its_caller() {
    let mut executor = executor();
    let guard = guard(&executor, 1, 5);
    let own = guard.clone();
    let closure = || -> Result<(), ()> { panic_any("a closure that panics, on purpose") };
    let text = panic_of(|| executor.block_on(async move { own.execute_blocking(closure).await }));
    assert_eq!(text, "a closure that panics, on purpose");
    is_idle(&guard);
    assert_eq!(panic_of(|| guard.blocking_execute(closure)), "a closure that panics, on purpose");
    is_idle(&guard);
    assert_eq!((guard.breaker().status().totals.panicked, state(&guard)), (2, State::Open));
}

/// It is a fault of this program, and means nothing for the dependency. The operation has run, so
/// that no error may claim that it has not begun.
#[test]
fn a_panic_of_a_classifier_is_no_failure_and_reaches_the_caller() {
    let mut executor = executor();
    let guard = unclassified(&executor);
    let text = "a classifier that panics, on purpose";
    let own = guard.clone();
    assert_eq!(panic_of(|| executor.block_on(async move { own.execute(async { Ok(()) }).await })), text);
    let own = guard.clone();
    assert_eq!(panic_of(|| executor.block_on(async move { own.execute_blocking(|| Ok(())).await })), text);
    assert_eq!(panic_of(|| guard.blocking_execute(|| Ok(()))), text);
    let totals = guard.breaker().status().totals;
    assert_eq!((totals.cancelled, totals.panicked, totals.ended()), (3, 0, 3));
    assert_eq!(state(&guard), State::Closed);
    is_idle(&guard);
}

/// The result of a closure that was given up panics when it is dropped, on a thread of the runtime.
#[test]
fn a_result_that_panics_when_it_is_dropped_disturbs_no_thread() {
    let mut executor = executor();
    let guard = guard(&executor, 1, 5);
    let own = guard.clone();
    let caller: Caller = Caller::default();
    let given_up = Arc::clone(&caller);
    // The closure itself drops its caller.
    let closure = move || {
        drop(given_up.lock().expect("no panic").take());
        Ok::<_, ()>(OnDrop(|| panic!("a result that panics, on purpose")))
    };
    let mut calls = Box::pin(async move { drop(own.execute_blocking(closure).await) });
    assert!(calls.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    *caller.lock().expect("no panic") = Some(calls);
    executor.run_until_idle();
    assert!(caller.lock().expect("no panic").is_none());
    assert_eq!(guard.breaker().status().totals.successes, 1);
    is_idle(&guard);
}

#[test]
fn a_future_that_is_dropped_by_a_panic_was_cancelled() {
    let mut executor = executor();
    let guard = guard(&executor, 1, 5);
    drop(running(&mut executor, &guard));
    let dropped = catch_unwind(AssertUnwindSafe(move || {
        let _executor = executor;
        panic!("a thread that panics, on purpose");
    }));
    dropped.expect_err("it panics");
    assert_eq!((guard.breaker().status().totals.cancelled, guard.breaker().status().totals.panicked), (1, 0));
    is_idle(&guard);
}

/// A destructor makes a call while its thread panics.
#[test]
fn a_call_on_a_thread_that_panics_already_has_not_panicked() {
    let executor = executor();
    let guard = guard(&executor, 1, 5);
    let own = guard.clone();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _calls = OnDrop(|| {
            own.blocking_execute(|| Ok::<_, ()>(())).expect("closed");
            own.blocking_execute(|| Err::<(), _>("fails")).expect_err("it fails");
        });
        panic!("a thread that panics, on purpose");
    }));
    panicked.expect_err("it panics");
    let totals = guard.breaker().status().totals;
    assert_eq!((totals.successes, totals.failures, totals.panicked), (1, 1, 0));
}

/// The operation panics in its drop, at its limit: it has failed already, and its slot is free.
#[test]
fn an_operation_that_panics_when_it_is_dropped_loses_no_slot() {
    let mut executor = executor();
    let bulkhead = bulkhead(executor.runtime(), 1, 5);
    let guard = builder(&bulkhead).run_limit(ms(5)).build().expect("valid settings");
    let operation = async {
        let _dropped = OnDrop(|| panic_any("a drop that panics, on purpose"));
        pending::<Result<(), &str>>().await
    };
    let slow = call(&mut executor, &guard, operation);
    assert_eq!(panic_of(|| executor.advance(ms(5))), "a drop that panics, on purpose");
    drop(slow);
    is_idle(&guard);
    assert_eq!((guard.breaker().status().totals.timed_out, guard.breaker().status().totals.ended()), (1, 1));
}

/// The same, where the whole call is dropped.
#[test]
fn a_dropped_operation_that_panics_loses_no_slot() {
    let executor = executor();
    let bulkhead = bulkhead(executor.runtime(), 1, 5);
    let guard = builder(&bulkhead).build().expect("valid settings");
    let mut dropped = Box::pin(guard.execute(async {
        let _dropped = OnDrop(|| panic_any("a drop that panics, on purpose"));
        pending::<Result<(), &str>>().await
    }));
    assert!(dropped.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert_eq!(guard.bulkhead().status().in_flight, 1);
    assert_eq!(panic_of(|| drop(dropped)), "a drop that panics, on purpose");
    is_idle(&guard);
    assert_eq!(guard.breaker().status().totals.cancelled, 1);
}

#[test]
fn a_handler_that_panics_disturbs_no_call() {
    let mut executor = executor();
    let guard = guard(&executor, 1, 5);
    guard.breaker().add_transition_handler(|_| panic!("a handler that panics, on purpose"));
    for _ in 0..2 {
        let failing = call(&mut executor, &guard, async { Err::<(), _>("fails") });
        assert!(matches!(ended(&failing), Err(GuardError::Operation("fails"))));
    }
    assert_eq!(state(&guard), State::Open);
    is_idle(&guard);
}
