//! Futures dropped in every state: the place in the queue is lost, and the slot is passed on.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bulklink::Totals;

use crate::{bulkhead, call, executor, slot};

#[test]
fn a_future_dropped_before_its_first_poll_changes_nothing() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    drop(bulkhead.slot());
    assert_eq!(bulkhead.status().totals, Totals::default());
}

#[test]
fn a_future_dropped_in_the_queue_counts_as_cancelled() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 2);
    let running = bulkhead.try_slot().expect("free");
    let (first, second) = (call(&mut executor, &bulkhead), call(&mut executor, &bulkhead));
    first.cancel();
    assert_eq!((bulkhead.status().waiting, bulkhead.status().totals.cancelled), (1, 1));
    drop(running);
    executor.run_until_idle();
    drop(slot(&second));
}

#[test]
fn a_future_dropped_with_a_grant_passes_the_slot_on() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 2);
    let running = bulkhead.try_slot().expect("free");
    let (first, second) = (call(&mut executor, &bulkhead), call(&mut executor, &bulkhead));
    drop(running);
    assert_eq!(bulkhead.status().in_flight, 1, "granted and not collected yet");
    first.cancel();
    executor.run_until_idle();
    let _running = slot(&second);
    let status = bulkhead.status();
    assert_eq!((status.in_flight, status.totals.abandoned, status.totals.cancelled), (1, 1, 0));
}

#[test]
fn an_operation_dropped_before_its_end_gives_its_slot_back() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let task = executor.spawn({
        let bulkhead = bulkhead.clone();
        async move { bulkhead.execute(std::future::pending::<()>()).await }
    });
    executor.run_until_idle();
    assert_eq!(bulkhead.status().in_flight, 1);
    task.cancel();
    assert_eq!((bulkhead.status().in_flight, bulkhead.status().totals.finished), (0, 1));
}

#[test]
fn an_operation_that_fails_gives_its_slot_back() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let failed = executor.spawn({
        let bulkhead = bulkhead.clone();
        async move { bulkhead.execute(async { Err::<(), _>("its own") }).await }
    });
    executor.run_until_idle();
    assert_eq!(failed.output(), Some(Ok(Err("its own"))));
    let totals = bulkhead.status().totals;
    assert_eq!((bulkhead.status().in_flight, totals.finished, totals.abandoned), (0, 1, 0));
}

#[test]
fn an_operation_that_panics_gives_its_slot_back() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    let panicking = executor.spawn({
        let bulkhead = bulkhead.clone();
        async move { bulkhead.execute(async { panic!("on purpose") }).await.map(|never: ()| never) }
    });
    let ended = catch_unwind(AssertUnwindSafe(|| executor.run_until_idle()));
    assert!(ended.is_err() && !panicking.is_finished());
    assert_eq!((bulkhead.status().in_flight, bulkhead.status().totals.finished), (0, 1));
    drop(slot(&call(&mut executor, &bulkhead)));
}

/// The operation is dropped first, because it may own the resource of the slot.
#[test]
fn the_operation_is_dropped_before_its_slot_is_released() {
    struct Operation {
        bulkhead: crate::TestBulkhead,
        ends: bool,
    }
    impl Future for Operation {
        type Output = ();
        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
            if self.ends { Poll::Ready(()) } else { Poll::Pending }
        }
    }
    impl Drop for Operation {
        fn drop(&mut self) {
            assert_eq!(self.bulkhead.status().in_flight, 1);
        }
    }
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    for ends in [true, false] {
        let task = executor.spawn({
            let bulkhead = bulkhead.clone();
            async move { bulkhead.execute(Operation { bulkhead: bulkhead.clone(), ends }).await }
        });
        executor.run_until_idle();
        assert_eq!(task.is_finished(), ends);
        task.cancel();
        assert_eq!(bulkhead.status().in_flight, 0);
    }
}

#[test]
fn a_future_polled_after_completion_panics_and_takes_no_slot() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    let mut context = Context::from_waker(Waker::noop());
    let mut admitted = Box::pin(bulkhead.slot());
    let Poll::Ready(Ok(running)) = admitted.as_mut().poll(&mut context) else { panic!("free") };
    let mut queued = Box::pin(bulkhead.slot());
    assert!(queued.as_mut().poll(&mut context).is_pending());
    let mut rejected = Box::pin(bulkhead.slot());
    assert!(matches!(rejected.as_mut().poll(&mut context), Poll::Ready(Err(_))));
    drop(running);
    assert!(matches!(queued.as_mut().poll(&mut context), Poll::Ready(Ok(_))));
    for mut ended in [admitted, queued, rejected] {
        let again = catch_unwind(AssertUnwindSafe(|| ended.as_mut().poll(&mut context).is_ready()));
        let message = again.expect_err("the future has completed").downcast::<String>().expect("a message");
        assert_eq!(*message, "polled again after it had completed");
    }
    let totals = bulkhead.status().totals;
    assert_eq!((totals.admitted, totals.finished, totals.rejected()), (2, 2, 1));
}
