//! A test beside the suite, for runtimes with timers that do not depend on an executor.

use std::future::poll_fn;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::task::Poll;

use bulklink::Reason;
use futures_util::FutureExt;

use crate::Harness;
use crate::scene::{LIMIT, LONG, play};

/// Checks that a call in a `block_on` expires while tasks occupy all `threads` of the executor.
///
/// # Panics
///
/// Panics if the call does not expire.
pub fn a_busy_executor_delays_no_limit_elsewhere<H: Harness>(threads: usize) {
    play::<H>(
        |limits| limits.parallelism(1).waiting_room(threads + 1),
        async |scene| {
            let _running = scene.bulkhead.slot().await.expect("free");
            let busy = (0..threads).map(|_| {
                let (blocks, blocked) = channel();
                let (end, ended) = channel::<()>();
                let bulkhead = scene.bulkhead.clone();
                let task = scene.spawn(async move {
                    let mut held = bulkhead.within(LIMIT / 2).slot();
                    assert!(poll_fn(|context| Poll::Ready(held.poll_unpin(context).is_pending())).await);
                    blocks.send(()).expect("the test goes on");
                    assert_eq!(ended.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected), "the call was delayed");
                });
                blocked.recv_timeout(LONG).expect("the task has a thread");
                (task, end)
            });
            let busy: Vec<_> = busy.collect();
            let rejection = scene.bulkhead.within(LIMIT).slot().await.expect_err("taken");
            assert_eq!(rejection.reason(), Reason::Expired);
            for (task, end) in busy {
                drop(end);
                task.await;
            }
        },
    );
}
