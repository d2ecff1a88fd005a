//! Closing: which calls are rejected, and when the bulkhead is drained.

use bulklink::{Reason, Request, ResizeError};

use crate::Harness;
use crate::scene::{LIMIT, play, sleep};

pub(crate) fn closing_answers_all_calls_and_lets_operations_go_on<H: Harness>() {
    play::<H>(
        |limits| limits.parallelism(1).waiting_room(5),
        async |scene| {
            let running = scene.bulkhead.owned().slot().await.expect("free");
            let waiting = [scene.queued(Request::new()).await, scene.queued(Request::new()).await];
            let observer = scene.bulkhead.clone();
            let closed = scene.spawn(async move { observer.handle().closed().await });
            assert!(scene.bulkhead.close() && !scene.bulkhead.close());
            for call in waiting {
                assert_eq!(call.await.expect_err("closed").reason(), Reason::Closed);
            }
            assert_eq!(scene.bulkhead.slot().await.expect_err("closed").reason(), Reason::Closed);
            assert!(matches!(scene.bulkhead.resize(5), Err(ResizeError::Closed { .. })));
            assert!(!scene.bulkhead.status().is_drained());
            let ends = scene.spawn(async move {
                sleep::<H>(LIMIT / 4).await;
                drop(running);
            });
            scene.bulkhead.close_and_wait().await;
            assert!(scene.bulkhead.status().is_drained());
            closed.await;
            ends.await;
        },
    );
}

pub(crate) fn closing_under_load_answers_every_call<H: Harness>() {
    const TASKS: usize = 1_000;
    play::<H>(
        |limits| limits.parallelism(2).waiting_room(TASKS),
        async |scene| {
            let tasks: Vec<_> = (0..TASKS)
                .map(|_| {
                    let bulkhead = scene.bulkhead.clone();
                    scene.spawn(async move { bulkhead.execute(sleep::<H>(LIMIT / 20)).await })
                })
                .collect();
            scene.until(|status| status.totals.finished > 0).await;
            scene.bulkhead.close_and_wait().await;
            assert!(scene.bulkhead.status().is_drained());
            let mut closed = 0;
            for task in tasks {
                if let Err(rejection) = task.await {
                    assert_eq!(rejection.reason(), Reason::Closed);
                    closed += 1;
                }
            }
            let totals = scene.bulkhead.status().totals;
            assert_eq!((totals.closed(), totals.finished + totals.closed()), (closed, TASKS as u64));
        },
    );
}
