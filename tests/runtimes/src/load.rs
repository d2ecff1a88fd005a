//! Thousands of tasks, and several threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use bulklink::runtime::Runtime;
use bulklink::{Bulkhead, Rejection};

use crate::Harness;
use crate::scene::{LONG, play, play_on_threads, yield_now};

/// Counts the operations that run, including those that are dropped before their end.
#[derive(Clone)]
pub(crate) struct Running {
    now: Arc<AtomicUsize>,
    most: usize,
}

/// A running operation.
pub(crate) struct One(Arc<AtomicUsize>);

impl Running {
    pub(crate) fn at_most(most: usize) -> Self {
        Running { now: Arc::default(), most }
    }

    pub(crate) fn enter(&self) -> One {
        assert!(self.now.fetch_add(1, SeqCst) < self.most, "over the limit");
        One(Arc::clone(&self.now))
    }
}

impl Drop for One {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

async fn work<R: Runtime>(bulkhead: Bulkhead<R>, running: Running, yields: usize) -> Result<(), Rejection> {
    let operation = async {
        let _running = running.enter();
        for _ in 0..yields {
            yield_now().await;
        }
    };
    bulkhead.execute(operation).await
}

/// Ten thousand tasks use ten slots, a third of the tasks is dropped in any state, and the counters
/// add up.
pub(crate) fn ten_thousand_tasks_share_ten_slots<H: Harness>() {
    const TASKS: usize = 10_000;
    const LIMIT: usize = 10;
    play::<H>(
        |limits| limits.parallelism(LIMIT).waiting_room(TASKS).wait_limit(LONG),
        async |scene| {
            let running = Running::at_most(LIMIT);
            let tasks: Vec<_> =
                (0..TASKS).map(|task| scene.spawn(work(scene.bulkhead.clone(), running.clone(), task % 4))).collect();
            for (number, task) in tasks.into_iter().enumerate() {
                match number % 3 {
                    1 => drop(task),
                    _ => task.await.expect("room for all to wait"),
                }
            }
            let status = scene.bulkhead.status();
            assert!(status.peak_in_flight <= LIMIT, "{status:?}");
            assert!(status.totals.finished >= TASKS as u64 / 3 * 2, "{status:?}");
            assert_eq!(status.totals.rejected(), 0);
        },
    );
}

/// Tasks, and threads that block on their own calls, use one bulkhead.
pub(crate) fn threads_and_tasks_share_one_bulkhead<H: Harness>() {
    const THREADS: usize = 4;
    const CALLS: usize = 200;
    let running = Running::at_most(2);
    let done = AtomicUsize::new(0);
    play_on_threads::<H>(
        THREADS,
        |limits| limits.parallelism(2).waiting_room(THREADS * CALLS).wait_limit(LONG),
        async |scene| {
            let tasks: Vec<_> = (0..CALLS / 2)
                .map(|task| scene.spawn(work(scene.bulkhead.clone(), running.clone(), task % 3)))
                .collect();
            for call in 0..CALLS / 2 {
                work(scene.bulkhead.clone(), running.clone(), call % 2).await.expect("room for all to wait");
            }
            for task in tasks {
                task.await.expect("room for all to wait");
            }
            if done.fetch_add(1, SeqCst) + 1 == THREADS {
                assert_eq!(scene.bulkhead.status().totals.finished, (THREADS * CALLS) as u64);
            }
        },
    );
}
