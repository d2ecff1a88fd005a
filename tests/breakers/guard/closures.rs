//! Closures: a slot is held until its closure has really ended.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread;

use bulklink::EventFilter;
use bulklink::testing::Executor;
use bulklink_breaker::{Guard, GuardError, State};

use super::by_hand::{ByHand, Treatment};
use super::{Log, OnDrop, Outcome, builder, bulkhead, executor, is_idle, ms, state};

fn guard(executor: &Executor, treatment: Treatment) -> (ByHand, Guard<ByHand>) {
    let runtime = ByHand::new(executor, treatment);
    let builder = builder(&bulkhead(runtime.clone(), 1, 5)).count_cancelled(true).run_limit(ms(100));
    (runtime, builder.build().expect("valid settings"))
}

fn spawn<T: Send + 'static>(
    executor: &mut Executor,
    guard: &Guard<ByHand>,
    closure: impl FnOnce() -> Result<T, &'static str> + Send + 'static,
) -> bulklink::testing::Task<Outcome<T>> {
    let guard = guard.clone();
    let task = executor.spawn(async move { guard.execute_blocking(closure).await });
    executor.run_until_idle();
    task
}

fn ended<T>(task: &bulklink::testing::Task<Outcome<T>>) -> Outcome<T> {
    task.output().expect("the call has ended")
}

#[test]
fn a_closure_runs_in_its_slot() {
    let mut executor = executor();
    let (runtime, guard) = guard(&executor, Treatment::Keep);
    let bulkhead = guard.bulkhead().handle().clone();
    let task = spawn(&mut executor, &guard, move || Ok(bulkhead.status().in_flight));
    assert_eq!(guard.bulkhead().status().in_flight, 1);
    runtime.run();
    executor.run_until_idle();
    assert_eq!(ended(&task).ok(), Some(1));
    is_idle(&guard);
    assert_eq!(guard.breaker().status().totals.successes, 1);
}

#[test]
fn an_error_of_a_closure_is_a_failure() {
    let mut executor = executor();
    let (runtime, guard) = guard(&executor, Treatment::Keep);
    for _ in 0..2 {
        let task = spawn(&mut executor, &guard, || Err::<(), _>("fails"));
        runtime.run();
        executor.run_until_idle();
        assert!(matches!(ended(&task), Err(GuardError::Operation("fails"))));
    }
    assert_eq!(state(&guard), State::Open);
}

/// Bulkman: a slot is freed while the closure that was given up still runs.
#[test]
fn a_slot_is_held_until_a_closure_that_was_given_up_has_ended() {
    let mut executor = executor();
    let (runtime, guard) = guard(&executor, Treatment::Keep);
    let (begun, gate) = (mpsc::channel(), mpsc::channel::<()>());
    let task = spawn(&mut executor, &guard, move || {
        begun.0.send(()).expect("the test waits");
        gate.1.recv().expect("the test goes on");
        Ok("too late")
    });
    let runs = thread::spawn(move || runtime.run());
    begun.1.recv().expect("it begins");
    executor.advance(ms(100));
    assert!(matches!(ended(&task), Err(GuardError::TimedOut(_))));
    assert_eq!(guard.bulkhead().status().in_flight, 1, "its slot is held");
    guard.bulkhead().try_slot().expect_err("its slot is held");
    gate.0.send(()).expect("it runs");
    runs.join().expect("no panic");
    is_idle(&guard);
    let totals = guard.breaker().status().totals;
    assert_eq!((totals.timed_out, totals.successes, totals.ended()), (1, 0, 1), "one outcome");
}

#[test]
fn the_result_of_a_closure_without_its_caller_counts() {
    let mut executor = executor();
    let (runtime, guard) = guard(&executor, Treatment::Keep);
    for _ in 0..2 {
        let (begun, gate) = (mpsc::channel(), mpsc::channel::<()>());
        let task = spawn(&mut executor, &guard, move || {
            begun.0.send(()).expect("the test waits");
            gate.1.recv().expect("the test goes on");
            Err::<(), _>("fails")
        });
        let runtime = runtime.clone();
        let runs = thread::spawn(move || runtime.run());
        begun.1.recv().expect("it begins");
        task.cancel();
        assert_eq!(guard.bulkhead().status().in_flight, 1);
        gate.0.send(()).expect("it runs");
        runs.join().expect("no panic");
        is_idle(&guard);
    }
    let totals = guard.breaker().status().totals;
    assert_eq!((totals.failures, totals.cancelled, state(&guard)), (2, 0, State::Open));
}

/// A closure that no thread has begun has not asked the dependency.
#[test]
fn a_closure_that_has_not_begun_ends_with_its_caller() {
    let mut executor = executor();
    let (runtime, guard) = guard(&executor, Treatment::Keep);
    let log = Log::default();
    for _ in 0..3 {
        let (inside, bulkhead) = (log.clone(), guard.bulkhead().handle().clone());
        let dropped =
            OnDrop(move || inside.note(if bulkhead.status().in_flight == 1 { "in its slot" } else { "late" }));
        let task = spawn(&mut executor, &guard, move || {
            let _dropped = &dropped;
            Err::<(), _>("it ran")
        });
        task.cancel();
        is_idle(&guard);
    }
    assert_eq!(log.all(), ["in its slot"; 3], "it is dropped before its slot is free");
    runtime.run();
    let totals = guard.breaker().status().totals;
    assert_eq!((totals.ignored, totals.ended(), state(&guard)), (3, 3, State::Closed));
    assert_eq!(guard.bulkhead().status().totals.abandoned, 3);
}

/// All threads are busy for the whole limit.
#[test]
fn a_closure_that_no_thread_begins_in_time_is_refused() {
    let mut executor = executor();
    let (runtime, guard) = guard(&executor, Treatment::Keep);
    let task = spawn(&mut executor, &guard, || Err::<(), _>("it ran"));
    executor.advance(ms(99));
    assert!(!task.is_finished());
    executor.advance(ms(1));
    let Err(refused) = ended(&task) else { panic!("it ran") };
    assert!(matches!(&refused, GuardError::Refused(_)) && refused.has_not_begun(), "{refused}");
    is_idle(&guard);
    runtime.run();
    assert_eq!((guard.breaker().status().totals.ignored, guard.breaker().status().totals.ended()), (1, 1));
}

/// A runtime that refuses a closure, panics, or drops it later, has nothing to do with the
/// dependency.
#[test]
fn a_runtime_that_does_not_run_a_closure_is_no_failure() {
    use Treatment::{Drop, KeepAndPanic, KeepAndRefuse, Panic, Refuse};
    for treatment in [Drop, Refuse, KeepAndRefuse, Panic, KeepAndPanic] {
        let mut executor = executor();
        let (runtime, guard) = guard(&executor, treatment);
        for _ in 0..3 {
            let task = spawn(&mut executor, &guard, || Err::<(), _>("it ran"));
            let Err(refused) = ended(&task) else { panic!("it ran") };
            assert!(matches!(refused, GuardError::Refused(_)), "{treatment:?}: {refused}");
            is_idle(&guard);
        }
        // A closure that was kept does not run later either: its caller has gone.
        runtime.run();
        let totals = guard.breaker().status().totals;
        assert_eq!((totals.ignored, totals.ended(), state(&guard)), (3, 3, State::Closed), "{treatment:?}");
    }
}

#[test]
fn a_runtime_that_drops_a_closure_later_is_no_failure() {
    let mut executor = executor();
    let (runtime, guard) = guard(&executor, Treatment::Keep);
    let task = spawn(&mut executor, &guard, || Err::<(), _>("it ran"));
    drop(runtime.take());
    executor.run_until_idle();
    assert!(matches!(ended(&task), Err(GuardError::Refused(_))));
    is_idle(&guard);
    assert_eq!((guard.breaker().status().totals.ignored, guard.breaker().status().totals.ended()), (1, 1));
}

/// The closure has ended and its outcome is counted, but the result is not there yet when the limit
/// passes: its caller gets the counted outcome.
#[test]
fn the_caller_gets_the_outcome_that_was_counted() {
    let executor = executor();
    let (runtime, guard) = guard(&executor, Treatment::Keep);
    let own = guard.clone();
    let mut waiting = Box::pin(async move { own.execute_blocking(|| Ok::<_, &str>("in time")).await });
    let mut context = Context::from_waker(Waker::noop());
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    // Runs between the count and the result, when the slot is released.
    let (counted, go_on) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (first, second) = (Arc::clone(&counted), Arc::clone(&go_on));
    guard.bulkhead().handle().add_event_handler(EventFilter::ALL, move |_| {
        first.wait();
        second.wait();
    });
    let runs = thread::spawn(move || runtime.run());
    counted.wait();
    executor.clock().advance(ms(100));
    let polled = waiting.as_mut().poll(&mut context);
    go_on.wait();
    runs.join().expect("no panic");
    assert!(!matches!(polled, Poll::Ready(Err(_))), "{polled:?}");
    assert!(matches!(waiting.as_mut().poll(&mut context), Poll::Ready(Ok("in time"))));
    assert_eq!((guard.breaker().status().totals.successes, guard.breaker().status().totals.ended()), (1, 1));
}

#[test]
fn a_thread_runs_its_own_closure() {
    let guard = builder(&bulkhead(bulklink_tokio::Tokio, 2, 5)).run_limit(ms(1)).build().expect("valid settings");
    let thread = thread::current().id();
    let result: Outcome<_> = guard.blocking_execute(|| {
        thread::sleep(ms(3));
        Ok(thread::current().id())
    });
    assert_eq!(result.ok(), Some(thread), "nothing can stop it at the limit");
    for _ in 0..2 {
        let result = guard.blocking_execute(|| Err::<(), _>("fails"));
        assert!(matches!(result, Err(GuardError::Operation("fails"))));
    }
    assert!(matches!(guard.blocking_execute(|| Ok::<_, ()>(())), Err(GuardError::Open(_))));
    is_idle(&guard);
}

/// As many threads as may, and no more, run closures at once.
#[test]
fn threads_wait_for_their_slots() {
    let guard = &builder(&bulkhead(bulklink_tokio::Tokio, 2, 50)).build().expect("valid settings");
    let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let run = || {
                        most.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
                        thread::yield_now();
                        running.fetch_sub(1, SeqCst);
                        Ok::<_, ()>(())
                    };
                    guard.blocking_execute(run).expect("there is room to wait");
                }
            });
        }
    });
    assert!(most.load(SeqCst) <= 2);
    assert_eq!(guard.breaker().status().totals.successes, 800);
    is_idle(guard);
}

/// A future that is dropped while it waits gives up its place.
#[test]
fn a_caller_that_is_dropped_in_the_queue_leaves_it() {
    let executor = executor();
    let (_, guard) = guard(&executor, Treatment::Keep);
    let slot = guard.bulkhead().try_slot().expect("free");
    let mut waiting = Box::pin(guard.execute_blocking(|| Ok::<_, ()>(())));
    let waker = Context::from_waker(Waker::noop()).waker().clone();
    assert!(Pin::new(&mut waiting).poll(&mut Context::from_waker(&waker)).is_pending());
    assert_eq!(guard.bulkhead().status().waiting, 1);
    drop(waiting);
    assert_eq!(guard.breaker().status().totals.ended(), 0);
    drop(slot);
    is_idle(&guard);
}
