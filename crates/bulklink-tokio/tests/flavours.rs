//! Real load on both flavours of the runtime.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use bulklink_tokio::{Bulkhead, Reason, Rejection};

const TASKS: usize = 5_000;
const LIMIT: usize = 10;

/// Thousands of tasks through ten slots, a third of them given up half-way, and everything adds up.
async fn thousands_of_tasks() {
    let bulkhead = Bulkhead::builder("busy").parallelism(LIMIT).waiting_room(TASKS).build().expect("valid");
    let running = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> =
        (0..TASKS).map(|task| tokio::spawn(one_task(bulkhead.clone(), Arc::clone(&running), task))).collect();
    tokio::task::yield_now().await;
    for task in tasks.iter().skip(1).step_by(3) {
        task.abort();
    }
    for task in tasks {
        match task.await {
            Ok(ran) => ran.expect("there was room for all to wait"),
            Err(error) => assert!(error.is_cancelled(), "{error}"),
        }
    }
    let status = bulkhead.status();
    let totals = status.totals;
    assert_eq!((status.in_flight, status.waiting), (0, 0));
    assert_eq!(totals.admitted, totals.finished + totals.abandoned);
    assert_eq!(totals.queued, totals.settled_waiting());
    assert!(status.peak_in_flight <= LIMIT);
    assert!(totals.finished >= TASKS as u64 / 3 * 2, "{totals:?}");
}

async fn one_task(bulkhead: Bulkhead, running: Arc<AtomicUsize>, task: usize) -> Result<(), Rejection> {
    let work = async {
        let _running = Running::new(running);
        for _ in 0..task % 4 {
            tokio::task::yield_now().await;
        }
    };
    bulkhead.execute(work).await
}

/// Counts whoever runs, also one that is dropped half-way.
struct Running(Arc<AtomicUsize>);

impl Running {
    fn new(count: Arc<AtomicUsize>) -> Self {
        assert!(count.fetch_add(1, SeqCst) < LIMIT, "over the limit");
        Running(count)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

#[tokio::test(flavor = "current_thread")]
async fn thousands_of_tasks_on_one_thread() {
    thousands_of_tasks().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn thousands_of_tasks_on_many_threads() {
    thousands_of_tasks().await;
}

/// Waiters run out of time while slots come free, and each gets exactly one answer.
async fn timeouts_under_load() {
    let limit = Duration::from_millis(5);
    let bulkhead =
        Bulkhead::builder("late").parallelism(2).waiting_room(TASKS).wait_limit(limit).build().expect("valid");
    let tasks: Vec<_> = (0..500)
        .map(|_| {
            let bulkhead = bulkhead.clone();
            tokio::spawn(
                async move { bulkhead.execute(async { tokio::time::sleep(Duration::from_millis(1)).await }).await },
            )
        })
        .collect();
    let (mut ran, mut late) = (0, 0);
    for task in tasks {
        match task.await.expect("no panic") {
            Ok(()) => ran += 1,
            Err(rejection) => {
                assert_eq!(rejection.reason(), Reason::Expired);
                assert!(rejection.waited() >= limit);
                late += 1;
            }
        }
    }
    let totals = bulkhead.status().totals;
    assert_eq!((totals.finished, totals.expired), (ran, late));
    assert!(ran >= 2 && late > 0, "{totals:?}");
}

#[tokio::test(flavor = "current_thread")]
async fn timeouts_under_load_on_one_thread() {
    timeouts_under_load().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn timeouts_under_load_on_many_threads() {
    timeouts_under_load().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn closing_under_load_answers_everyone() {
    let bulkhead = Bulkhead::builder("closing").parallelism(2).waiting_room(TASKS).build().expect("valid");
    let tasks: Vec<_> = (0..1_000)
        .map(|_| {
            let bulkhead = bulkhead.clone();
            tokio::spawn(async move { bulkhead.execute(tokio::task::yield_now()).await })
        })
        .collect();
    tokio::task::yield_now().await;
    bulkhead.close_and_wait().await;
    assert!(bulkhead.status().is_drained());
    for task in tasks {
        if let Err(rejection) = task.await.expect("no panic") {
            assert_eq!(rejection.reason(), Reason::Closed);
        }
    }
    let totals = bulkhead.status().totals;
    assert_eq!(totals.finished + totals.closed(), 1_000);
}
