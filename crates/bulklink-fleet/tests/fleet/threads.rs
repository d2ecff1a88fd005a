//! Fleets on several threads and in real time: what virtual time cannot show.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use bulklink::{Request, StdClock};
use bulklink_fleet::{Fleet, FleetBulkhead, MemoryStore};
use bulklink_tokio::Tokio;

use crate::scene::millis;

const LIMIT: i64 = 3;

/// How long the calls go on.
const TIME: Duration = millis(600);

#[derive(Default)]
struct Units {
    used: AtomicI64,
    admitted: AtomicU64,
}

async fn begin(store: &MemoryStore, reuse: u64, idle: u64) -> (Fleet<Tokio>, FleetBulkhead<Tokio>) {
    let fleet = Fleet::builder(store.clone(), Tokio).namespace("test").build().unwrap();
    let builder = fleet.bulkhead("payments").limit(3).waiting_room(100).remote_waiters(4);
    let bulkhead = builder.reuse(reuse).idle(millis(idle)).connect().await.unwrap();
    (fleet, bulkhead)
}

/// Makes calls, some of which are dropped at any time.
async fn make_calls(bulkhead: FleetBulkhead<Tokio>, units: Arc<Units>) {
    let end = tokio::time::Instant::now() + TIME;
    while tokio::time::Instant::now() < end {
        let request = if fastrand::u8(..4) == 0 { Request::new().now() } else { Request::new() };
        let call = bulkhead.acquire_with(request);
        let patience = Duration::from_micros(fastrand::u64(1..3_000));
        let Ok(Ok(permit)) = tokio::time::timeout(patience, call).await else { continue };
        let used = units.used.fetch_add(1, Ordering::SeqCst);
        assert!(used < LIMIT, "{} units of {LIMIT} are in use", used + 1);
        units.admitted.fetch_add(1, Ordering::Relaxed);
        if fastrand::bool() {
            tokio::task::yield_now().await;
        }
        units.used.fetch_sub(1, Ordering::SeqCst);
        if fastrand::u8(..8) == 0 {
            assert!(permit.release().await);
        }
    }
    // Without a limit on the wait: a wake-up that is lost would never come.
    drop(bulkhead.acquire().await.unwrap());
}

async fn run(reuse: u64, idle: u64) {
    let store = MemoryStore::new(StdClock);
    let units = Arc::new(Units::default());
    let processes = [begin(&store, reuse, idle).await, begin(&store, reuse, idle).await];
    let bulkheads = processes.iter().flat_map(|(_, bulkhead)| [(); 8].map(|()| bulkhead.clone()));
    let tasks: Vec<_> = bulkheads.map(|bulkhead| tokio::spawn(make_calls(bulkhead, Arc::clone(&units)))).collect();
    for task in tasks {
        task.await.unwrap();
    }
    tokio::time::sleep(millis(idle + 50)).await;
    let status = processes[0].1.status().await.unwrap();
    assert_eq!((status.leases, status.waiting), (0, 0));
    assert!(units.admitted.load(Ordering::Relaxed) > 20);
    for (fleet, bulkhead) in &processes {
        fleet.close().await;
        let totals = bulkhead.local_status().totals;
        assert_eq!(totals.admitted, totals.released, "{totals:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_on_several_threads_are_neither_lost_nor_above_the_limit() {
    for (reuse, idle) in [(0, 0), (4, 0), (0, 20), (2, 5)] {
        tokio::time::timeout(Duration::from_secs(30), run(reuse, idle)).await.expect("no call is lost");
    }
}
