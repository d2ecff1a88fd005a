//! Servers, processes and the load that they have in these tests.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bulklink::runtime::{Runtime, Spawn, Timer};
use bulklink_redis::{BulkheadBuilder, Fleet, FleetBulkhead, Reason, RedisStore};
use futures_util::future::join_all;

/// Far more than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const LEASE: Duration = Duration::from_secs(1);

/// A runtime of these tests.
pub(crate) trait Platform: Runtime + Timer<Sleep: Send> + Spawn {}

impl<R: Runtime + Timer<Sleep: Send> + Spawn> Platform for R {}

/// Declares a test on tokio and one on smol for each async function.
macro_rules! on_both {
    ($($name:ident)+) => {
        mod on_tokio {$(
            #[test]
            fn $name() {
                crate::world::on_tokio(super::$name(bulklink_redis::tokio::Tokio));
            }
        )+}

        mod on_smol {$(
            #[test]
            fn $name() {
                crate::world::on_smol(super::$name(bulklink_redis::smol::Smol));
            }
        )+}
    };
}

pub(crate) use on_both;

pub(crate) fn on_tokio(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(within(PATIENCE, test));
}

pub(crate) fn on_smol(test: impl Future<Output = ()>) {
    smol::block_on(within(PATIENCE, test));
}

/// Panics if a future takes longer.
pub(crate) async fn within<T>(time: Duration, future: impl Future<Output = T>) -> T {
    let late = async {
        smol::Timer::after(time).await;
        panic!("not within {time:?}")
    };
    smol::future::or(future, late).await
}

pub(crate) async fn pass(time: Duration) {
    smol::Timer::after(time).await;
}

/// Returns a process. The time that the store has to answer is long, because the machine is busy.
pub(crate) fn process<R: Platform>(runtime: R, url: &str) -> Fleet<R> {
    let store = RedisStore::new(url).expect("the address is valid");
    let builder = Fleet::builder(store, runtime).namespace("test").store_timeout(Duration::from_secs(3));
    builder.build().expect("the values are valid")
}

pub(crate) fn payments<R: Platform>(fleet: &Fleet<R>, limit: u64) -> BulkheadBuilder<R> {
    let builder = fleet.bulkhead("payments").limit(limit).waiting_room(10_000);
    builder.lease(LEASE).claim(Duration::from_millis(500)).beat(Duration::from_millis(100))
}

/// Two processes with a bulkhead of one name.
pub(crate) struct Pair<R: Platform> {
    pub(crate) fleets: [Fleet<R>; 2],
    pub(crate) bulkheads: [FleetBulkhead<R>; 2],
}

impl<R: Platform> Pair<R> {
    pub(crate) async fn new(runtime: &R, urls: [&str; 2], limit: u64) -> Self {
        let fleets = urls.map(|url| process(runtime.clone(), url));
        let [first, second] = &fleets;
        let bulkheads = [open(first, limit).await, open(second, limit).await];
        Self { fleets, bulkheads }
    }

    /// Loads both processes for a time, with clients that acquire, hold and release, and counts how
    /// many hold a permit at the same time.
    pub(crate) async fn load(&self, clients: usize, time: Duration) -> Load {
        let (load, end) = (Load::default(), Instant::now() + time);
        let client = |at: usize| {
            let (load, bulkhead) = (&load, &self.bulkheads[at % 2]);
            async move {
                while Instant::now() < end {
                    match bulkhead.acquire().await {
                        Ok(permit) => {
                            let running = load.running.fetch_add(1, Ordering::SeqCst) + 1;
                            load.most.fetch_max(running, Ordering::SeqCst);
                            load.admitted.fetch_add(1, Ordering::SeqCst);
                            pass(Duration::from_millis(1)).await;
                            load.running.fetch_sub(1, Ordering::SeqCst);
                            drop(permit);
                        }
                        Err(rejection) => {
                            assert_eq!(rejection.reason(), Reason::Unavailable, "{rejection}");
                            load.unavailable.fetch_add(1, Ordering::SeqCst);
                            pass(Duration::from_millis(5)).await;
                        }
                    }
                }
            }
        };
        join_all((0..clients).map(client)).await;
        load
    }

    /// Panics unless the store soon has no lease and no waiter left, and the limit is free.
    pub(crate) async fn drains(&self, limit: u64) {
        let begin = Instant::now();
        let [bulkhead, _] = &self.bulkheads;
        loop {
            let status = bulkhead.status().await;
            if status.as_ref().is_ok_and(|status| (status.leases, status.waiting) == (0, 0)) {
                break;
            }
            assert!(begin.elapsed() < LEASE * 8, "{status:?}");
            // A lease without a holder ends by itself.
            let _ = bulkhead.reap_expired().await;
            pass(Duration::from_millis(20)).await;
        }
        let permits = join_all((0..limit).map(|_| bulkhead.acquire())).await;
        assert!(permits.iter().all(Result::is_ok), "{permits:?}");
    }
}

pub(crate) async fn open<R: Platform>(fleet: &Fleet<R>, limit: u64) -> FleetBulkhead<R> {
    payments(fleet, limit).connect().await.expect("the store is in reach")
}

/// What clients have seen.
#[derive(Debug, Default)]
pub(crate) struct Load {
    running: AtomicU64,
    most: AtomicU64,
    admitted: AtomicU64,
    unavailable: AtomicU64,
}

impl Load {
    /// Panics unless at most `limit` clients held a permit at the same time, and some did.
    pub(crate) fn kept_to(&self, limit: u64) {
        let (most, admitted) = (self.most.load(Ordering::SeqCst), self.admitted.load(Ordering::SeqCst));
        assert!(most <= limit && admitted > 0, "{self:?}");
    }
}
