//! Changing the capacity while operations run.

use bulklink::{Request, Resized};

use crate::Harness;
use crate::load::Running;
use crate::scene::{LIMIT, play, sleep};

pub(crate) fn growing_admits_waiters<H: Harness>() {
    play::<H>(
        |limits| limits.parallelism(1).waiting_room(5),
        async |scene| {
            let running = scene.bulkhead.slot().await.expect("free");
            let mut waiting = vec![];
            for _ in 0..3 {
                waiting.push(scene.queued(Request::new()).await);
            }
            let Resized { previous, admitted, .. } = scene.bulkhead.resize(3).expect("open");
            assert_eq!((previous, admitted, scene.bulkhead.status().waiting), (1, 2, 1));
            let last = waiting.pop().expect("three wait");
            let mut admitted = vec![];
            for call in waiting {
                admitted.push(call.await.expect("admitted"));
            }
            assert!(scene.bulkhead.resize(1).is_ok_and(|resized| resized.previous == 3));
            assert_eq!(scene.bulkhead.status().capacity_excess(), 2);
            drop((running, admitted));
            drop(last.await.expect("it was admitted"));
        },
    );
}

/// The capacity changes while hundreds of tasks run: never do more run than the largest capacity,
/// and all are admitted.
pub(crate) fn resizing_under_load_exceeds_no_capacity<H: Harness>() {
    const TASKS: usize = 400;
    const MOST: usize = 10;
    play::<H>(
        |limits| limits.parallelism(MOST).waiting_room(TASKS),
        async |scene| {
            let running = Running::at_most(MOST);
            let tasks: Vec<_> = (0..TASKS)
                .map(|_| {
                    let (bulkhead, running) = (scene.bulkhead.clone(), running.clone());
                    let work = async move {
                        let _running = running.enter();
                        sleep::<H>(LIMIT / 100).await;
                    };
                    scene.spawn(async move { bulkhead.execute(work).await })
                })
                .collect();
            for capacity in [2, 7, 1, MOST, 3, 3, 8] {
                scene.bulkhead.resize(capacity).expect("open");
                scene.sleep(LIMIT / 20).await;
                assert!(scene.bulkhead.status().in_use <= MOST);
            }
            for task in tasks {
                task.await.expect("room for all to wait");
            }
            let status = scene.bulkhead.status();
            assert_eq!((status.totals.finished, status.limits.capacity), (TASKS as u64, 8));
        },
    );
}
