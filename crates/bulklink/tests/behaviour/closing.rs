//! Closing: which calls are rejected, and when the bulkhead is drained.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use bulklink::{Reason, ResizeError};

use crate::{builder, bulkhead, call, executor, ms, reason, slot};

#[test]
fn closing_rejects_all_calls_and_lets_operations_go_on() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 5);
    let running = slot(&call(&mut executor, &bulkhead));
    let waiting = [call(&mut executor, &bulkhead), call(&mut executor, &bulkhead)];
    assert!(bulkhead.close());
    assert!(!bulkhead.close(), "the bulkhead was closed already");
    executor.run_until_idle();
    assert!(waiting.iter().all(|call| reason(call) == Reason::Closed));
    assert_eq!(reason(&call(&mut executor, &bulkhead)), Reason::Closed);
    assert_eq!(bulkhead.resize(5), Err(ResizeError::Closed { label: "test".into() }));
    let totals = bulkhead.status().totals;
    assert_eq!((totals.closed_while_waiting, totals.closed_before_queue), (2, 1));
    assert!(!bulkhead.status().is_drained());
    drop(running);
    assert!(bulkhead.status().is_drained());
}

#[test]
fn a_rejection_after_closing_has_the_occupancy_of_its_moment() {
    let executor = executor();
    let bulkhead = builder(&executor).capacity(4).waiting_room(2).build().expect("valid");
    let mut running = vec![bulkhead.try_slot().expect("free"), bulkhead.try_slot().expect("free")];
    bulkhead.close();
    for in_use in [2, 1, 0] {
        let occupancy = bulkhead.try_slot().expect_err("closed").occupancy();
        assert_eq!((occupancy.in_flight(), occupancy.in_use(), occupancy.capacity()), (in_use, in_use, 4));
        assert_eq!((occupancy.waiting(), occupancy.waiting_room()), (0, 2));
        running.pop();
    }
}

#[test]
fn waiting_for_the_drain_ends_with_the_last_operation() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 2, 0);
    let mut running = vec![slot(&call(&mut executor, &bulkhead)), slot(&call(&mut executor, &bulkhead))];
    let watching = [(); 3].map(|()| {
        let bulkhead = bulkhead.clone();
        executor.spawn(async move { bulkhead.handle().closed().await })
    });
    executor.run_until_idle();
    watching[0].cancel();
    bulkhead.close();
    while let Some(slot) = running.pop() {
        executor.run_until_idle();
        assert!(!watching[1].is_finished(), "an operation still runs");
        drop(slot);
    }
    executor.run_until_idle();
    assert!(watching[1].is_finished() && watching[2].is_finished());
}

#[test]
fn an_idle_bulkhead_is_drained_when_it_closes() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let closing = executor.spawn(async move { bulkhead.close_and_wait().await });
    executor.run_until_idle();
    assert!(closing.is_finished());
}

#[test]
fn dropping_the_wait_for_the_drain_reopens_nothing() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let _running = bulkhead.try_slot().expect("free");
    drop(bulkhead.close_and_wait());
    assert!(bulkhead.is_closed());
}

#[test]
fn a_granted_future_delays_the_drain_until_polled_or_dropped() {
    let executor = executor();
    let mut context = Context::from_waker(Waker::noop());
    for dropped in [true, false] {
        let bulkhead = bulkhead(&executor, 1, 1);
        let running = bulkhead.try_slot().expect("free");
        let mut granted = bulkhead.owned().slot();
        assert!(Pin::new(&mut granted).poll(&mut context).is_pending());
        drop(running);
        let mut closing = pin!(bulkhead.close_and_wait());
        assert_eq!(bulkhead.status().in_flight, 1, "the future was granted the slot");
        assert!(closing.as_mut().poll(&mut context).is_pending());
        assert!(!bulkhead.handle().closed().block_for(ms(0)));
        if dropped {
            drop(granted);
        } else {
            drop(Pin::new(&mut granted).poll(&mut context));
        }
        assert!(closing.as_mut().poll(&mut context).is_ready());
        assert!(bulkhead.handle().closed().block_for(ms(0)));
    }
}

/// The future was rejected when the bulkhead closed, but has not been polled since.
#[test]
fn a_future_without_a_slot_does_not_delay_the_drain() {
    let executor = executor();
    let mut context = Context::from_waker(Waker::noop());
    let bulkhead = bulkhead(&executor, 1, 1);
    let running = bulkhead.try_slot().expect("free");
    let mut waiting = bulkhead.slot();
    assert!(Pin::new(&mut waiting).poll(&mut context).is_pending());
    let mut closing = pin!(bulkhead.close_and_wait());
    drop(running);
    assert!(closing.as_mut().poll(&mut context).is_ready());
    let Poll::Ready(Err(rejection)) = Pin::new(&mut waiting).poll(&mut context) else {
        panic!("the future was rejected")
    };
    assert_eq!(rejection.reason(), Reason::Closed);
}

#[test]
fn a_slot_abandoned_after_closing_drains_it_too() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    let running = slot(&call(&mut executor, &bulkhead));
    let waiting = call(&mut executor, &bulkhead);
    let watching = executor.spawn({
        let bulkhead = bulkhead.clone();
        async move { bulkhead.handle().closed().await }
    });
    executor.run_until_idle();
    drop(running);
    bulkhead.close();
    waiting.cancel();
    executor.run_until_idle();
    assert!(watching.is_finished());
}
