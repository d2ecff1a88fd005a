//! Faults that were measured in widely used crates. Each test shows that this crate is free of one.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Wake, Waker};

use bulklink::{EventFilter, EventKind, OwnedSlot, OwnedSlotFuture, Reason, Request};

use crate::{TestBulkhead, builder, bulkhead, call, executor, ms, reason, recorder, slot};

/// async-lock, throttle-net: a late `acquire` or `try_acquire` overtakes a waiter that was already
/// woken.
#[test]
fn a_new_call_does_not_overtake_a_woken_waiter() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 5);
    let running = bulkhead.try_slot().expect("free");
    let woken = call(&mut executor, &bulkhead);
    drop(running);
    drop(bulkhead.try_slot().expect_err("the slot belongs to the woken waiter"));
    let late = executor.spawn(bulkhead.owned().slot());
    executor.run_until_idle();
    let first = slot(&woken);
    assert!(!late.is_finished());
    drop(first);
}

/// ranked-semaphore: a granted future dropped before its next poll loses the permit for good.
#[test]
fn a_granted_future_dropped_before_a_poll_loses_no_slot() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 5);
    let running = bulkhead.try_slot().expect("free");
    let granted = call(&mut executor, &bulkhead);
    drop(running);
    granted.cancel();
    drop(bulkhead.try_slot().expect("the slot came back"));
}

/// embassy-sync 0.8: cancelling the parked head does not wake waiters that could run.
#[test]
fn cancelling_the_head_wakes_the_waiters_that_fit_now() {
    let mut executor = executor();
    let bulkhead = builder(&executor).capacity(3).waiting_room(5).build().expect("valid");
    let _running = bulkhead.with(Request::new().cost(2)).try_slot().expect("free");
    let heavy = executor.spawn(bulkhead.with(Request::new().cost(3)).slot());
    let light = executor.spawn(bulkhead.owned().slot());
    executor.run_until_idle();
    assert!(!light.is_finished());
    heavy.cancel();
    executor.run_until_idle();
    drop(slot(&light));
}

/// The same by a deadline instead of a cancellation.
#[test]
fn expiry_of_the_head_wakes_the_waiters_that_fit_now() {
    let mut executor = executor();
    let bulkhead = builder(&executor).capacity(3).waiting_room(5).build().expect("valid");
    let _running = bulkhead.with(Request::new().cost(2)).try_slot().expect("free");
    let heavy = executor.spawn(bulkhead.with(Request::new().cost(3).within(ms(10))).slot());
    let light = executor.spawn(bulkhead.owned().slot());
    executor.advance(ms(10));
    assert_eq!(reason(&heavy), Reason::Expired);
    drop(slot(&light));
}

/// congestion-limiter: shrinking by "acquire and forget" queues behind the waiters.
#[test]
fn shrinking_takes_effect_immediately() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 2, 5);
    let running = [(); 2].map(|()| slot(&call(&mut executor, &bulkhead)));
    let waiting = call(&mut executor, &bulkhead);
    bulkhead.resize(1).expect("open");
    let [first, second] = running;
    drop(first);
    executor.run_until_idle();
    assert!(!waiting.is_finished(), "one operation runs, and the capacity is one");
    drop(second);
    executor.run_until_idle();
    drop(slot(&waiting));
}

/// anyio, deadpool: after a resize from 4 to 2 and back to 4, six operations run.
#[test]
fn shrinking_and_growing_again_does_not_over_grant() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 4, 10);
    let _running = [(); 4].map(|()| slot(&call(&mut executor, &bulkhead)));
    let waiting = [(); 4].map(|()| call(&mut executor, &bulkhead));
    bulkhead.resize(2).expect("open");
    bulkhead.resize(4).expect("open");
    executor.run_until_idle();
    assert!(waiting.iter().all(|call| !call.is_finished()));
    assert_eq!((bulkhead.status().in_flight, bulkhead.status().peak_in_flight), (4, 4));
}

/// tower-resilience: a gauge left at 1, and no event, after a running call is dropped.
#[test]
fn a_running_call_that_is_dropped_is_counted_and_reported() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let (kinds, handler) = recorder(|event| event.kind);
    bulkhead.handle().add_event_handler(EventFilter::ALL, handler);
    let running = executor.spawn({
        let bulkhead = bulkhead.clone();
        async move { bulkhead.execute(std::future::pending::<()>()).await }
    });
    executor.run_until_idle();
    running.cancel();
    assert_eq!(bulkhead.status().in_flight, 0);
    assert_eq!(*kinds.lock().expect("no panic"), [EventKind::Admitted, EventKind::Released]);
}

/// tower-resilience: rejecting when full is reported as a timeout, and the queue is unbounded:
/// 10,000 of 10,000 waited.
#[test]
fn a_full_queue_rejects_and_is_not_a_timeout() {
    let mut executor = executor();
    let bulkhead = builder(&executor).parallelism(1).waiting_room(3).wait_limit(ms(50)).build().expect("valid");
    let _running = bulkhead.try_slot().expect("free");
    let calls: Vec<_> = (0..10_000).map(|_| executor.spawn(bulkhead.owned().slot())).collect();
    executor.run_until_idle();
    assert_eq!(bulkhead.status().waiting, 3);
    assert!(calls[3..].iter().all(|call| reason(call) == Reason::Saturated));
}

/// axum #2582: a limit without effect, because every clone of it makes a new semaphore.
#[test]
fn clones_share_one_limit() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let clone = bulkhead.clone();
    let _running = bulkhead.try_slot().expect("free");
    clone.try_slot().expect_err("both are the same bulkhead");
}

/// tower's `ConcurrencyLimit` below `LoadShed`: a clone that is ready, or queued to become ready,
/// and is never called, starves all others.
#[test]
fn an_idle_clone_that_was_rejected_holds_nothing() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 5);
    let running = bulkhead.owned().try_slot().expect("free");
    let idle = bulkhead.clone();
    drop(idle.try_slot().expect_err("taken"));
    let _never_polled = idle.slot();
    drop(running);
    for _ in 0..3 {
        drop(slot(&call(&mut executor, &bulkhead)));
    }
    assert_eq!((bulkhead.status().in_flight, bulkhead.status().waiting), (0, 0));
}

/// tower-http #447: the permit is released when the head of a response is ready, while its body
/// still streams.
#[test]
fn a_slot_can_move_into_a_response_that_streams() {
    struct Response {
        _body: Vec<OwnedSlot>,
    }
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let head = executor.spawn({
        let bulkhead = bulkhead.clone();
        async move { bulkhead.owned().slot().await.map(|slot| Response { _body: vec![slot] }) }
    });
    executor.run_until_idle();
    let response = head.output().expect("the head is ready").expect("it was admitted");
    assert_eq!((bulkhead.status().in_flight, bulkhead.status().totals.finished), (1, 0));
    drop(response);
    assert_eq!((bulkhead.status().in_flight, bulkhead.status().totals.finished), (0, 1));
}

/// tokio #5429: a waker that is called or dropped under the lock, and uses the data that the lock
/// protects, deadlocks.
#[test]
fn wakers_may_use_the_bulkhead_when_called_and_when_dropped() {
    struct Meddler(TestBulkhead, AtomicUsize);
    impl Wake for Meddler {
        fn wake(self: Arc<Self>) {
            self.1.fetch_add(self.0.status().in_flight, SeqCst);
            drop(self.0.try_slot());
        }
    }
    impl Drop for Meddler {
        fn drop(&mut self) {
            drop(self.0.try_slot());
        }
    }
    let bulkhead = bulkhead(&executor(), 1, 5);
    let running = bulkhead.try_slot().expect("free");
    let [woken, displaced, dropped] = [(); 3].map(|()| Arc::new(Meddler(bulkhead.clone(), AtomicUsize::new(0))));
    let poll =
        |wait: &mut OwnedSlotFuture<_>, waker: &Waker| Pin::new(wait).poll(&mut Context::from_waker(waker)).is_ready();
    let [mut first, mut second] = [bulkhead.owned().slot(), bulkhead.owned().slot()];
    assert!(!poll(&mut first, &Waker::from(displaced)) && !poll(&mut first, &Waker::from(Arc::clone(&woken))));
    assert!(!poll(&mut second, &Waker::from(dropped)));
    drop(second);
    drop(running);
    assert_eq!(woken.1.load(SeqCst), 1, "the waker was woken, and read the status");
    assert!(poll(&mut first, Waker::noop()));
}

/// promesa: bursts of exactly as many calls as there are permits are wrongly rejected.
#[test]
fn a_burst_of_exactly_the_parallelism_is_admitted() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 8, 0);
    for _ in 0..100 {
        let burst = [(); 8].map(|()| call(&mut executor, &bulkhead));
        drop(burst.map(|call| slot(&call)));
    }
    assert_eq!(bulkhead.status().totals.saturated, 0);
}
