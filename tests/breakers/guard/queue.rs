//! The circuit and the queue: which calls run, and which the circuit counts.

use std::thread;

use bulklink::{Reason, Request};
use bulklink_breaker::{Breaker, Guard, GuardError, Health, Outcome, Settings, State};

use super::{builder, bulkhead, call, ended, executor, guard, is_idle, ms, open, running, state, trip, waiting};

#[test]
fn a_call_is_rejected_immediately_while_the_circuit_is_open() {
    let mut executor = executor();
    let guard = guard(&executor, 1, 1);
    trip(&guard);
    let rejected = open(ended(&waiting(&mut executor, &guard)));
    assert_eq!((&*rejected.label, rejected.state, rejected.retry_after), ("test", State::Open, Some(ms(10))));
    let status = guard.bulkhead().status();
    assert_eq!((status.totals.admitted, status.totals.queued), (0, 0), "the bulkhead was not asked");
    assert_eq!(guard.breaker().status().totals.rejected, 1);
}

/// Bulkman: calls that were queued before the circuit opened run after it.
#[test]
fn calls_that_wait_are_rejected_when_the_circuit_opens() {
    let mut executor = executor();
    let guard = guard(&executor, 1, 10);
    let first = running(&mut executor, &guard);
    let calls = [(); 3].map(|()| waiting(&mut executor, &guard));
    trip(&guard);
    executor.run_until_idle();
    for call in &calls {
        assert_eq!(open(ended(call)).retry_after, Some(ms(10)), "no time has passed");
    }
    let status = guard.bulkhead().status();
    assert_eq!((status.in_flight, status.waiting, status.totals.cancelled), (1, 0, 3));
    assert_eq!(guard.breaker().status().totals.rejected, 3);
    first.cancel();
    is_idle(&guard);
}

/// The call that runs opens the circuit, and its slot is handed over to the head of the queue.
#[test]
fn the_head_of_the_queue_is_rejected_by_the_result_before_it() {
    let mut executor = executor();
    let guard = guard(&executor, 1, 10);
    guard.breaker().admit().expect("closed").fail();
    let guarded = guard.clone();
    let (sender, receiver) = futures_channel::oneshot::channel::<()>();
    let failing = executor.spawn(async move { guarded.execute(async { receiver.await.map_err(|_| "fails") }).await });
    executor.run_until_idle();
    let calls = [(); 3].map(|()| waiting(&mut executor, &guard));
    drop(sender);
    executor.run_until_idle();
    assert!(matches!(ended(&failing), Err(GuardError::Operation("fails"))));
    for call in &calls {
        open(ended(call));
    }
    is_idle(&guard);
}

/// A slot that was handed over already, when the circuit opens, is given back.
#[test]
fn a_call_with_a_slot_asks_the_circuit_before_it_runs() {
    let mut executor = executor();
    let guard = guard(&executor, 1, 10);
    let first = running(&mut executor, &guard);
    let granted = waiting(&mut executor, &guard);
    first.cancel();
    assert_eq!(guard.bulkhead().status().in_flight, 1, "the slot was handed over");
    guard.breaker().force_open();
    executor.run_until_idle();
    assert_eq!(open(ended(&granted)).retry_after, None);
    is_idle(&guard);
}

#[test]
fn threads_that_wait_are_rejected_when_the_circuit_opens() {
    let guard = &builder(&bulkhead(bulklink_tokio::Tokio, 1, 10)).build().expect("valid settings");
    let slot = guard.bulkhead().try_slot().expect("free");
    thread::scope(|scope| {
        let blocked =
            [(); 4].map(|()| scope.spawn(|| guard.blocking_execute(|| -> Result<(), ()> { panic!("it ran") })));
        while guard.bulkhead().status().waiting < 4 {
            thread::yield_now();
        }
        guard.breaker().force_open();
        for thread in blocked {
            assert!(matches!(thread.join().expect("no panic"), Err(GuardError::Open(_))));
        }
    });
    assert_eq!(guard.bulkhead().status().in_flight, 1, "the slot was not needed for that");
    drop(slot);
    is_idle(guard);
}

#[test]
fn a_closure_that_waits_is_rejected_when_the_circuit_opens() {
    let mut executor = executor();
    let guard = guard(&executor, 1, 10);
    let first = running(&mut executor, &guard);
    let own = guard.clone();
    let closure =
        executor.spawn(async move { own.execute_blocking(|| -> Result<(), &str> { panic!("it ran") }).await });
    executor.run_until_idle();
    trip(&guard);
    executor.run_until_idle();
    open(ended(&closure));
    first.cancel();
    is_idle(&guard);
}

/// A transition that lets calls through leaves the queue as it is.
#[test]
fn calls_that_wait_stay_in_the_queue_while_the_circuit_lets_them_through() {
    let mut executor = executor();
    let guard = guard(&executor, 1, 10);
    let first = running(&mut executor, &guard);
    let second = call(&mut executor, &guard, async { Ok("second") });
    guard.breaker().force_closed();
    executor.run_until_idle();
    let third = call(&mut executor, &guard, async { Ok("third") });
    assert_eq!(guard.bulkhead().status().waiting, 2);
    first.cancel();
    executor.run_until_idle();
    assert_eq!((ended(&second).ok(), ended(&third).ok()), (Some("second"), Some("third")));
}

/// semian #227: a full bulkhead opened the circuit, though the dependency had not been asked.
#[test]
fn a_rejection_of_the_bulkhead_is_no_failure() {
    let mut executor = executor();
    let bulkhead = bulkhead(executor.runtime(), 1, 1);
    let guard = builder(&bulkhead).build().expect("valid settings");
    let first = running(&mut executor, &guard);
    let reject = |executor: &mut bulklink::testing::Executor, request: Request<_>| {
        let guard = guard.clone();
        let call = executor.spawn(async move { guard.with(request).execute(async { Ok::<_, &str>(()) }).await });
        executor.advance(ms(5));
        match ended(&call) {
            Err(GuardError::Rejected(rejection)) => rejection.reason(),
            other => panic!("{other:?}"),
        }
    };
    for _ in 0..20 {
        assert_eq!(reject(&mut executor, Request::new().within(ms(5))), Reason::Expired);
    }
    let queued = waiting(&mut executor, &guard);
    for _ in 0..20 {
        assert_eq!(reject(&mut executor, Request::new()), Reason::Saturated);
        assert_eq!(reject(&mut executor, Request::new().now()), Reason::Saturated);
    }
    queued.cancel();
    bulkhead.close();
    for _ in 0..20 {
        assert_eq!(reject(&mut executor, Request::new()), Reason::Closed);
    }
    assert_eq!(state(&guard), State::Closed);
    let totals = guard.breaker().status().totals;
    assert_eq!((totals.ended(), totals.rejected, guard.breaker().status().circuit.counts.calls), (0, 0, 0));
    first.cancel();
}

/// A probe would be held for as long as the call waits.
#[test]
fn a_call_that_waits_is_no_probe() {
    let mut executor = executor();
    let guard = guard(&executor, 1, 10);
    let first = running(&mut executor, &guard);
    trip(&guard);
    executor.advance(ms(10));
    assert_eq!(guard.health(), Health::Degraded);
    let calls = [(); 3].map(|()| call(&mut executor, &guard, async { Ok("probe") }));
    assert_eq!((guard.bulkhead().status().waiting, guard.breaker().status().totals.probes), (3, 0));
    first.cancel();
    executor.run_until_idle();
    let outcomes = calls.map(|call| ended(&call).is_ok());
    assert_eq!((outcomes, guard.health()), ([true; 3], Health::Healthy));
    assert_eq!(guard.breaker().status().totals.probes, 1);
}

#[test]
fn one_probe_runs_and_the_others_are_rejected() {
    let mut executor = executor();
    let guard = guard(&executor, 4, 10);
    trip(&guard);
    executor.advance(ms(10));
    let probe = running(&mut executor, &guard);
    let other = waiting(&mut executor, &guard);
    assert_eq!(open(ended(&other)).state, State::HalfOpen);
    probe.cancel();
    assert!(ended(&call(&mut executor, &guard, async { Ok("works") })).is_ok());
    assert_eq!(guard.health(), Health::Healthy);
}

#[test]
fn what_a_result_means_is_up_to_the_classifier() {
    let mut executor = executor();
    let classify = |result: &Result<u16, &str>| match result {
        Ok(429) => Outcome::Ignore,
        Ok(500..) => Outcome::Failure,
        Ok(_) | Err("not found") => Outcome::Success,
        Err(_) => Outcome::Failure,
    };
    let bulkhead = bulkhead(executor.runtime(), 1, 0);
    let settings = Settings::of_last(100).failures(3);
    let guard = Guard::builder(&bulkhead).settings(settings).classify(classify).build().expect("valid settings");
    for result in [Ok(200), Ok(429), Ok(503), Err("not found"), Err("refused")] {
        let own = guard.clone();
        let outcome = executor.block_on(async move { own.execute(async move { result }).await });
        assert_eq!(outcome.map_err(GuardError::operation), result.map_err(Some));
    }
    let totals = guard.breaker().status().totals;
    assert_eq!((totals.successes, totals.failures, totals.ignored), (2, 2, 1));
    for (result, outcome) in [(Ok(500), State::Open), (Ok(200), State::Open)] {
        let _ = guard.blocking_execute(|| result);
        assert_eq!(state(&guard), outcome);
    }
}

#[test]
fn guards_can_share_a_breaker() {
    let mut executor = executor();
    let breaker = Breaker::builder_on(executor.clock(), "shared").settings(Settings::consecutive(1)).build();
    let breaker = breaker.expect("valid settings");
    let [one, other] = [(); 2].map(|()| {
        let bulkhead = bulkhead(executor.runtime(), 1, 5);
        Guard::builder(&bulkhead).breaker(&breaker).build().expect("valid settings")
    });
    let first = running(&mut executor, &one);
    let queued = waiting(&mut executor, &one);
    let failing = call(&mut executor, &other, async { Err::<(), _>("fails") });
    assert!(matches!(ended(&failing), Err(GuardError::Operation("fails"))));
    executor.run_until_idle();
    assert_eq!(&*open(ended(&queued)).label, "shared");
    first.cancel();
}
