//! Fleets on a server, through the public interface: one async function per test. Some are faults
//! that other limiters had, by the names of their reports.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bulklink_fleet::{BulkheadBuilder, Fleet, FleetBulkhead, LeaseStore, Reason};
use bulklink_servers::{Data, Proxy};
use futures_util::future::{FutureExt, join, join_all};

use crate::{Platform, Site, pass};

/// How long a lease is valid in these tests.
pub const LEASE: Duration = Duration::from_secs(1);

/// Returns a process. The time that the store has to answer is long, because the machine is busy.
pub fn process<R: Platform>(runtime: R, store: impl LeaseStore) -> Fleet<R> {
    let builder = Fleet::builder(store, runtime).namespace("test").store_timeout(Duration::from_secs(3));
    builder.build().expect("the values are valid")
}

/// Returns the bulkhead of these tests.
pub fn payments<R: Platform>(fleet: &Fleet<R>, limit: u64) -> BulkheadBuilder<R> {
    lasting(fleet, limit, LEASE)
}

/// Returns the bulkhead of these tests, with leases of this time.
fn lasting<R: Platform>(fleet: &Fleet<R>, limit: u64, lease: Duration) -> BulkheadBuilder<R> {
    let builder = fleet.bulkhead("payments").limit(limit).waiting_room(10_000);
    builder.lease(lease).claim(lease / 2).beat(Duration::from_millis(100))
}

/// Two processes with a bulkhead of one name.
#[derive(Debug)]
pub struct Pair<R: Platform> {
    /// The processes.
    pub fleets: [Fleet<R>; 2],
    /// Their bulkheads.
    pub bulkheads: [FleetBulkhead<R>; 2],
}

impl<R: Platform> Pair<R> {
    /// Connects.
    pub async fn new<S: LeaseStore>(runtime: &R, stores: [S; 2], limit: u64) -> Self {
        Self::lasting(runtime, stores, limit, LEASE).await
    }

    /// Connects, for leases of this time.
    async fn lasting<S: LeaseStore>(runtime: &R, stores: [S; 2], limit: u64, lease: Duration) -> Self {
        let fleets = stores.map(|store| process(runtime.clone(), store));
        let [first, second] = &fleets;
        let bulkheads = [connect(lasting(first, limit, lease)).await, connect(lasting(second, limit, lease)).await];
        Self { fleets, bulkheads }
    }

    /// Loads both processes for a time, with clients that acquire, hold and release, and counts how
    /// many hold a permit at the same time.
    pub async fn load(&self, clients: usize, time: Duration) -> Load {
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
    pub async fn drains(&self, limit: u64) {
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

/// Opens the bulkhead of these tests.
pub async fn open<R: Platform>(fleet: &Fleet<R>, limit: u64) -> FleetBulkhead<R> {
    connect(payments(fleet, limit)).await
}

async fn connect<R: Platform>(builder: BulkheadBuilder<R>) -> FleetBulkhead<R> {
    builder.connect().await.expect("the store is in reach")
}

/// What clients have seen.
#[derive(Debug, Default)]
pub struct Load {
    running: AtomicU64,
    most: AtomicU64,
    admitted: AtomicU64,
    unavailable: AtomicU64,
}

impl Load {
    /// Panics unless at most `limit` clients held a permit at the same time, and some did.
    pub fn kept_to(&self, limit: u64) {
        let (most, admitted) = (self.most.load(Ordering::SeqCst), self.admitted.load(Ordering::SeqCst));
        assert!(most <= limit && admitted > 0, "{self:?}");
    }
}

const TIME: Duration = Duration::from_millis(1_500);

/// Cut connections cost no permit and admit no call twice.
pub async fn cut_connections_cost_no_permit_and_admit_no_call_twice<R: Platform>(site: impl Site, runtime: R) {
    let proxy = Proxy::to(site.socket());
    let pair = Pair::new(&runtime, [site.through(&proxy), site.store()], 4).await;
    let cuts = async {
        for _ in 0..15 {
            pass(TIME / 20).await;
            proxy.cut();
        }
    };
    join(pair.load(30, TIME), cuts).await.0.kept_to(4);
    pair.drains(4).await;
}

/// Dropped replies leak nothing.
pub async fn dropped_replies_leak_nothing<R: Platform>(site: impl Site, runtime: R) {
    let proxy = Proxy::to(site.socket());
    let pair = Pair::new(&runtime, [site.through(&proxy), site.store()], 4).await;
    let drops = async {
        for count in 0..10 {
            pass(TIME / 15).await;
            proxy.drop_replies(1 + count % 3);
            // A reply that is missing shifts the others, so the connection must end.
            pass(Duration::from_millis(20)).await;
            proxy.cut();
        }
    };
    join(pair.load(30, TIME), drops).await.0.kept_to(4);
    pair.drains(4).await;
}

/// A restart without data counts what runs.
pub async fn a_restart_without_data_counts_what_runs<R: Platform, S: Site>(mut site: S, runtime: R) {
    let lease = LEASE + S::RESTART;
    let Pair { bulkheads: [one, two], fleets: _fleets } =
        Pair::lasting(&runtime, [site.store(), site.store()], 2, lease).await;
    let held = one.acquire().await.unwrap();
    // A grant that was pushed lasts for a claim only, until a beat renews it.
    pass(LEASE / 2).await;
    site.restart(Data::Empty);
    // One of two units is free; the calls wait until it is certain which.
    let permit = two.acquire().await.unwrap();
    assert!(held.is_valid());
    let status = two.status().await.unwrap();
    assert_eq!((status.leases, status.waiting), (2, 0));
    assert!(permit.token() > held.token());
    assert_eq!(two.try_acquire().await.unwrap_err().reason(), Reason::Saturated);
}

/// A restart with data goes on.
pub async fn a_restart_with_data_goes_on<R: Platform, S: Site>(mut site: S, runtime: R) {
    let lease = LEASE + S::RESTART;
    let pair = Pair::lasting(&runtime, [site.store(), site.store()], 2, lease).await;
    let held = pair.bulkheads[0].acquire().await.unwrap();
    pass(LEASE / 2).await;
    site.restart(Data::Keep);
    let permit = pair.bulkheads[1].acquire().await.unwrap();
    assert!(held.is_valid() && permit.token() > held.token());
    drop((held, permit));
    pair.drains(2).await;
}

/// Futures that are dropped anywhere leak nothing.
pub async fn futures_that_are_dropped_anywhere_leak_nothing<R: Platform>(site: impl Site, runtime: R) {
    let pair = Pair::new(&runtime, [site.store(), site.store()], 3).await;
    let mut random = fastrand::Rng::with_seed(7);
    let droppings = async {
        for count in 0..400 {
            let mut call = Box::pin(pair.bulkheads[count % 2].acquire());
            for _ in 0..random.u32(0..4) {
                let _ = (&mut call).now_or_never();
                pass(Duration::from_micros(random.u64(0..800))).await;
            }
        }
    };
    join(pair.load(8, TIME), droppings).await.0.kept_to(3);
    pair.drains(3).await;
}

/// Solid queue 761 a stale holder does not free what another has.
pub async fn solid_queue_761_a_stale_holder_does_not_free_what_another_has<R: Platform>(site: impl Site, runtime: R) {
    let proxy = Proxy::to(site.socket());
    let Pair { bulkheads: [stale, other], fleets: _fleets } =
        Pair::new(&runtime, [site.through(&proxy), site.store()], 1).await;
    let late = stale.acquire().await.unwrap();
    proxy.black_hole();
    let permit = other.acquire().await.unwrap();
    assert!(!late.is_valid());
    proxy.heal();
    // Twice: by its drop, and by the beats that list it as gone.
    drop(late);
    pass(LEASE / 2).await;
    assert!(permit.is_valid());
    assert_eq!(other.try_acquire().await.unwrap_err().reason(), Reason::Saturated);
    assert_eq!(other.status().await.unwrap().leases, 1);
}

/// Redisson 3046 a permit is renewed as long as it is held.
pub async fn redisson_3046_a_permit_is_renewed_as_long_as_it_is_held<R: Platform>(site: impl Site, runtime: R) {
    let Pair { bulkheads: [one, two], fleets: _fleets } = Pair::new(&runtime, [site.store(), site.store()], 1).await;
    let permit = one.acquire().await.unwrap();
    pass(LEASE * 3).await;
    assert!(permit.is_valid());
    assert_eq!(two.try_acquire().await.unwrap_err().reason(), Reason::Saturated);
}

/// Redisson 4462 the count is right after crashes.
pub async fn redisson_4462_the_count_is_right_after_crashes<R: Platform>(site: impl Site, runtime: R) {
    let pair = Pair::new(&runtime, [site.store(), site.store()], 3).await;
    for _ in 0..3 {
        // A process that is cut off for ever is dead for the others.
        let proxy = Proxy::to(site.socket());
        let fleet = process(runtime.clone(), site.through(&proxy));
        let dead = open(&fleet, 3).await;
        let permits = [dead.acquire().await.unwrap(), dead.acquire().await.unwrap()];
        proxy.black_hole();
        std::mem::forget(permits);
        drop(dead);
        // One unit is left meanwhile.
        drop(pair.bulkheads[0].acquire().await.unwrap());
    }
    pair.drains(3).await;
}

/// Redis semaphore 205 nothing is lost under contention.
pub async fn redis_semaphore_205_nothing_is_lost_under_contention<R: Platform>(site: impl Site, runtime: R) {
    let pair = Pair::new(&runtime, [site.store(), site.store()], 5).await;
    pair.load(60, Duration::from_secs(3)).await.kept_to(5);
    pair.drains(5).await;
}

/// Redis semaphore 127 tokens fence late holders.
pub async fn redis_semaphore_127_tokens_fence_late_holders<R: Platform>(site: impl Site, runtime: R) {
    let proxy = Proxy::to(site.socket());
    let Pair { bulkheads: [late, other], fleets: _fleets } =
        Pair::new(&runtime, [site.through(&proxy), site.store()], 1).await;
    let first = late.acquire().await.unwrap();
    proxy.black_hole();
    let second = other.acquire().await.unwrap();
    assert!(second.token() > first.token(), "{:?} after {:?}", second.token(), first.token());
    first.lost().await;
}

/// Sentinel 3428 a limit of one runs one.
pub async fn sentinel_3428_a_limit_of_one_runs_one<R: Platform>(site: impl Site, runtime: R) {
    let pair = Pair::new(&runtime, [site.store(), site.store()], 1).await;
    pair.load(20, Duration::from_secs(2)).await.kept_to(1);
    pair.drains(1).await;
}

/// Ended sessions change nothing.
pub async fn ended_sessions_change_nothing<R: Platform>(site: impl Site, runtime: R) {
    let pair = Pair::new(&runtime, [site.store(), site.store()], 4).await;
    let faults = async {
        for _ in 0..15 {
            pass(TIME / 20).await;
            site.end_sessions();
        }
    };
    join(pair.load(30, TIME), faults).await.0.kept_to(4);
    pair.drains(4).await;
}

/// A stopped server admits no call too many.
pub async fn a_stopped_server_admits_no_call_too_many<R: Platform>(mut site: impl Site, runtime: R) {
    let pair = Pair::new(&runtime, [site.store(), site.store()], 4).await;
    let faults = async {
        for count in 0..4 {
            pass(TIME / 8).await;
            site.stop_process();
            // Longer than a claim, and than a lease.
            pass(LEASE * (1 + count % 2) * 2 / 3).await;
            site.continue_process();
        }
    };
    join(pair.load(30, TIME), faults).await.0.kept_to(4);
    pair.drains(4).await;
}
