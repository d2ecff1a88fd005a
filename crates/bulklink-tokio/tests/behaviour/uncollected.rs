//! Slots that are not collected, on real runtimes.

use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc;
use std::task::{Context, Waker};
use std::time::Duration;

use bulklink_tokio::{Bulkhead, OwnedSlotFuture, Reason};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

const LIMIT: Duration = Duration::from_millis(50);
/// A time that only a failing test reaches.
const LONG: Duration = Duration::from_secs(20);

fn bulkhead(limit: Duration) -> Bulkhead {
    Bulkhead::builder("test").parallelism(1).waiting_room(9).collect_limit(limit).build().expect("valid")
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn queued(bulkhead: &Bulkhead) -> Pin<Box<OwnedSlotFuture>> {
    let mut call = Box::pin(bulkhead.owned().slot());
    assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    call
}

#[tokio::test]
async fn a_call_that_is_not_polled_loses_its_slot_to_the_next() {
    let bulkhead = bulkhead(LIMIT);
    let running = bulkhead.slot().await.expect("free");
    let forgotten = queued(&bulkhead);
    drop(running);
    drop(timeout(LONG, bulkhead.slot()).await.expect("in time").expect("admitted"));
    assert_eq!(forgotten.await.expect_err("taken back").reason(), Reason::Uncollected);
}

#[test]
fn a_call_without_a_limit_works_outside_of_a_runtime() {
    let bulkhead = bulkhead(LIMIT);
    let mut call = Box::pin(bulkhead.owned().slot());
    assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
    let _running = bulkhead.try_slot().expect("free");
    drop(queued(&bulkhead));
}

#[tokio::test]
async fn a_limit_on_the_wait_is_in_time_beside_a_long_limit_of_the_slot() {
    let bulkhead = bulkhead(LONG);
    let _running = bulkhead.slot().await.expect("free");
    let _patient = queued(&bulkhead);
    let handle = bulkhead.within(LIMIT).submit(async {}).expect("there is room");
    let limited = bulkhead.within(LIMIT).slot();
    let expired = timeout(LONG / 2, limited).await.expect("in time").expect_err("taken");
    assert_eq!(expired.reason(), Reason::Expired);
    assert!(timeout(LONG / 2, handle).await.expect("in time").is_err());
}

/// The thread that is to run the submitted operation blocks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_submitted_operation_whose_thread_is_blocked_loses_its_slot() {
    let bulkhead = bulkhead(LIMIT);
    let running = bulkhead.owned().slot().await.expect("free");
    let [first, second] = [(); 2].map(|()| bulkhead.submit(async {}).expect("there is room"));
    while bulkhead.status().waiting < 2 {
        tokio::task::yield_now().await;
    }
    let (unblock, blocked) = mpsc::channel::<()>();
    let blocking = tokio::spawn(async move {
        // Wakes the first operation, which this thread keeps to itself.
        drop(running);
        _ = blocked.recv_timeout(LONG);
    });
    let outcome = timeout(LONG, async {
        // Either another thread has run the first operation, or its slot is taken back.
        while bulkhead.status().totals.finished < 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    outcome.await.expect("the second operation has its turn");
    drop(unblock);
    blocking.await.expect("no panic");
    assert!(second.await.is_ok());
    _ = first.await;
}

#[test]
fn a_call_that_is_polled_on_another_runtime_goes_on() {
    let (first, second) = (runtime(), runtime());
    let bulkhead = bulkhead(LIMIT);
    let (running, _forgotten, next) = first.block_on(async {
        let running = bulkhead.owned().slot().await.expect("free");
        let waiting = (queued(&bulkhead), queued(&bulkhead));
        tokio::task::yield_now().await;
        (running, waiting.0, waiting.1)
    });
    drop(first);
    second.block_on(async {
        drop(running);
        drop(timeout(LONG, next).await.expect("in time").expect("admitted"));
    });
}
