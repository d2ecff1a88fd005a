//! *limits*: waits with a limit: the cost of beginning one, and of many that end at the same time.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, yield_now};
use tokio::time::timeout;

use crate::goal::{Goal, Limit, Row};
use crate::hand_made::{self, HandMade};
use crate::peers::{LONG, limited, tokio_runtime};
use crate::scene::{Meter, Pace, Scene};
use crate::work::enqueue;

const WAITERS: usize = 10_000;
const LATE: usize = 100_000;
/// Longer than it takes to queue all the waiters that will expire.
const SHORT: Duration = Duration::from_secs(2);

pub(crate) fn goal() -> Goal {
    let what = "queue with a wait limit";
    let rows = [
        Row::instructions(what, "tokio timeout(acquire)", queue(), queue_tokio()).limit(Limit::Ours(980.0)),
        Row::time(what, "tokio timeout(acquire)", queue(), queue_tokio())
            .at_most(0.75)
            .headline("Join the queue with a wait limit"),
        Row::time("100,000 waiters expire: processor time", "tokio timeout(acquire)", late(), late_tokio())
            .at_most(0.90)
            .headline("Expire 100,000 waiters: processor time of each"),
        Row::time(what, hand_made::NAME_WITH_LIMIT, queue(), queue_by_hand()),
    ];
    Goal::new("limits", rows)
}

fn queue() -> Scene {
    let scene = Scene::new("limits/queue slot", |operations, meter| {
        let bulkhead = limited(1, LONG);
        let _held = bulkhead.try_slot().expect("there is room for one");
        enqueue(operations, meter, || bulkhead.slot());
    });
    scene.pace(Pace::Fixed(WAITERS))
}

fn queue_tokio() -> Scene {
    let scene = Scene::new("limits/queue tokio timeout(acquire)", |operations, meter| {
        let semaphore = Semaphore::new(0);
        enqueue(operations, meter, || timeout(LONG, semaphore.acquire()));
    });
    scene.pace(Pace::Fixed(WAITERS))
}

fn queue_by_hand() -> Scene {
    let scene = Scene::new("limits/queue by hand", |operations, meter| {
        let hand_made = HandMade::new(0, Some(LONG));
        enqueue(operations, meter, || hand_made.acquire());
    });
    scene.pace(Pace::Fixed(WAITERS))
}

fn late() -> Scene {
    let scene = Scene::new("limits/expire slot", |operations, meter| {
        let bulkhead: &'static _ = Box::leak(Box::new(limited(1, SHORT)));
        let _held = bulkhead.try_slot().expect("there is room for one");
        expire(operations, meter, || async { bulkhead.slot().await.is_err() });
    });
    scene.pace(Pace::Once(LATE)).cpu()
}

fn late_tokio() -> Scene {
    let scene = Scene::new("limits/expire tokio timeout(acquire)", |operations, meter| {
        let semaphore: &'static _ = Box::leak(Box::new(Semaphore::new(0)));
        expire(operations, meter, || async { timeout(SHORT, semaphore.acquire()).await.is_err() });
    });
    scene.pace(Pace::Once(LATE)).cpu()
}

/// Runs tasks that wait until they expire. Each returns whether it has expired. All are queued
/// before the meter starts, and expire while it runs.
fn expire<F>(tasks: usize, meter: Meter<'_>, wait: impl Fn() -> F)
where
    F: Future<Output = bool> + Send + 'static,
{
    let runtime = tokio_runtime();
    let start = Instant::now();
    let mut waiting = runtime.block_on(queued(tasks, wait));
    assert!(start.elapsed() < SHORT, "too slow: some tasks expired before all were queued");
    meter(&mut || {
        runtime.block_on(async {
            for task in waiting.drain(..) {
                assert!(task.await.expect("no task panics"), "there is no room");
            }
        });
    });
}

/// Spawns the tasks, and returns when each has been polled.
async fn queued<F>(tasks: usize, wait: impl Fn() -> F) -> Vec<JoinHandle<bool>>
where
    F: Future<Output = bool> + Send + 'static,
{
    let begun = Arc::new(AtomicUsize::new(0));
    let task = |begun: Arc<AtomicUsize>, wait: F| async move {
        begun.fetch_add(1, Relaxed);
        wait.await
    };
    let waiting = (0..tasks).map(|_| tokio::spawn(task(Arc::clone(&begun), wait()))).collect();
    while begun.load(Relaxed) < tasks {
        yield_now().await;
    }
    waiting
}
