//! Partitions on real threads: more keys than are kept, more tasks than may run, a third of them given up half-way.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use bulklink_tokio::{Partitions, Reason, Rejection};
use tokio::task::yield_now;

const TASKS: usize = 5_000;
const KEYS: usize = 50;
const KEPT: usize = 20;
const PARALLELISM: usize = 3;

type Hosts = Partitions<usize>;
type Running = Arc<[AtomicUsize; KEYS]>;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn however_calls_come_and_go_none_is_lost_and_no_partition_is_made_twice() {
    let builder = Hosts::builder("hosts").parallelism(PARALLELISM).waiting_room(TASKS).max_partitions(KEPT);
    let hosts = builder.idle_timeout(Duration::ZERO).build().expect("valid");
    let running = Running::new([const { AtomicUsize::new(0) }; KEYS]);
    let spawn = |task| tokio::spawn(one_task(hosts.clone(), Arc::clone(&running), task));
    let tasks: Vec<_> = (0..TASKS).map(spawn).collect();
    yield_now().await;
    for task in tasks.iter().skip(1).step_by(3) {
        task.abort();
    }
    for task in tasks {
        match task.await {
            Ok(Ok(())) => {}
            Ok(Err(rejection)) => assert_eq!(rejection.reason(), Reason::PartitionLimit),
            Err(error) => assert!(error.is_cancelled(), "{error}"),
        }
    }
    check_that_all_have_left(&hosts);
    hosts.close_and_wait().await;
}

/// Calls for its key, and cleans up or discards now and then, as others may.
async fn one_task(hosts: Hosts, running: Running, task: usize) -> Result<(), Rejection> {
    let key = task % KEYS;
    match task % 7 {
        0 => _ = hosts.cleanup_idle(),
        1 => _ = hosts.discard(&key),
        _ => {}
    }
    hosts.execute(&key, operation(&running[key], task)).await
}

/// However many bulkheads there were for a key, no more run at once than one of them lets in.
async fn operation(running: &AtomicUsize, task: usize) {
    assert!(running.fetch_add(1, SeqCst) < PARALLELISM, "over the limit");
    let _running = Leaving(running);
    for _ in 0..task % 4 {
        yield_now().await;
    }
}

struct Leaving<'a>(&'a AtomicUsize);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

fn check_that_all_have_left(hosts: &Hosts) {
    let status = hosts.status();
    let totals = status.totals;
    assert_eq!((status.active_partitions, status.leased_operations), (0, 0));
    assert_eq!(totals.created, totals.evicted + totals.discarded + status.partitions as u64);
    assert!(status.peak_partitions <= KEPT && totals.created > 0 && status.peak_leased_operations > 0);
    let kept = (0..KEYS).filter(|key| hosts.handle(key).is_some()).count();
    assert_eq!(kept, status.partitions);
}
