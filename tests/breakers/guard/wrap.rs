//! Wrapped functions, calls that do not wait, and the counters of a guard.

use bulklink::{Reason, Request};
use bulklink_breaker::{GuardError, Health};

use super::{Log, call, ended, executor, guard, ms, open, running, trip, waiting};

#[test]
fn a_wrapped_function_is_called_in_its_slot() {
    let mut executor = executor();
    let guard = guard(&executor, 1, 5);
    let (log, inside, bulkhead) = (Log::default(), Log::default(), guard.bulkhead().handle().clone());
    let called = inside.clone();
    let wrapped = guard.wrap(move |(from, to): (&'static str, &'static str)| {
        called.note(if bulkhead.status().in_flight == 1 { "in its slot" } else { "too early" });
        async move { if from == to { Err("the same") } else { Ok(to) } }
    });
    assert_eq!(wrapped.guard().bulkhead().label(), "test");
    let calls = wrapped.clone();
    let sent = executor.block_on(async move { (calls.call(("a", "b")).await, calls.call(("a", "a")).await) });
    assert!(matches!(sent, (Ok("b"), Err(GuardError::Operation("the same")))));
    guard.breaker().force_open();
    let rejected = executor.block_on(async move { wrapped.call(("a", "b")).await });
    assert!(matches!(rejected, Err(GuardError::Open(_))));
    assert_eq!((inside.all(), log.all()), (vec!["in its slot"; 2], Vec::new()), "not called by a rejected call");
}

#[test]
fn a_call_that_does_not_wait_is_rejected_immediately() {
    let mut executor = executor();
    let guard = guard(&executor, 1, 5);
    let first = running(&mut executor, &guard);
    let own = guard.clone();
    let full = executor.spawn(async move { own.with(Request::new().now()).execute(async { Ok::<_, &str>(()) }).await });
    executor.run_until_idle();
    let Err(GuardError::Rejected(rejection)) = ended(&full) else { panic!("it ran") };
    assert_eq!(rejection.reason(), Reason::Saturated);
    first.cancel();
    let own = guard.clone();
    assert!(
        executor
            .block_on(async move { own.with(Request::new().now()).execute(async { Ok::<_, &str>(()) }).await })
            .is_ok()
    );
}

#[test]
fn the_counters_are_those_of_both() {
    let mut executor = executor();
    let guard = guard(&executor, 1, 1);
    let first = running(&mut executor, &guard);
    let second = waiting(&mut executor, &guard);
    assert!(matches!(ended(&waiting(&mut executor, &guard)), Err(GuardError::Rejected(_))));
    let status = guard.status();
    assert_eq!((&*status.label, status.active(), status.waiting(), status.rejected()), ("test", 1, 1, 1));
    trip(&guard);
    executor.run_until_idle();
    open(ended(&second));
    first.cancel();
    let status = guard.status();
    assert_eq!((status.active(), status.waiting(), status.rejected(), status.health()), (0, 0, 2, Health::Isolated));
    assert_eq!(
        (status.breaker.totals.failures, status.breaker.totals.cancelled, status.breaker.totals.opened),
        (2, 1, 1)
    );
    guard.reset();
    assert_eq!((guard.health(), guard.status().breaker.totals.failures), (Health::Healthy, 2));
    executor.advance(ms(1));
    assert!(ended(&call(&mut executor, &guard, async { Ok(()) })).is_ok());
}

#[test]
fn each_error_is_boxed_as_that_of_the_part_that_it_comes_from() {
    type BoxError = Box<dyn std::error::Error + Send + Sync>;
    let mut executor = executor();
    let guard = guard(&executor, 1, 5);
    let own = guard.clone();
    let fails = async { Err::<(), BoxError>("its own".into()) };
    let failed = executor.block_on(async move { own.execute(fails).await }).expect_err("it fails").into_boxed();
    assert_eq!(failed.to_string(), "its own");

    let first = running(&mut executor, &guard);
    let refuse = |executor: &mut bulklink::testing::Executor| {
        let own = guard.clone();
        let never = async { Err::<(), BoxError>("it ran".into()) };
        let call = async move { own.with(Request::new().now()).execute(never).await };
        executor.block_on(call).expect_err("it is not admitted").into_boxed()
    };
    let rejection = refuse(&mut executor).downcast::<bulklink::Rejection>().expect("of the bulkhead");
    assert_eq!(rejection.reason(), Reason::Saturated);
    first.cancel();
    guard.breaker().force_open();
    assert!(refuse(&mut executor).is::<bulklink_breaker::OpenCircuit>());
    let closed = guard.breaker().blocking_execute(|| Err::<(), _>("it ran")).expect_err("open").into_boxed();
    assert!(closed.is::<bulklink_breaker::OpenCircuit>());
}
