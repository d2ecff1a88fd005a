//! Fleets on a server, through the public interface: one async function per test. Some are faults
//! that other limiters had, by the names of their reports.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bulklink::Bulkhead;
use bulklink_fleet::share::Tuning;
use bulklink_fleet::{Fleet, FleetShare, LeaseStore, ShareBuilder};
use bulklink_servers::{Data, Proxy};
use futures_util::future::{FutureExt, join_all, select};

use crate::{Platform, Site, pass};

/// How long a lease is valid in these tests.
pub const LEASE: Duration = Duration::from_secs(1);

/// A process with a bulkhead and its share.
#[derive(Debug)]
pub struct Member<R: Platform> {
    /// The process.
    pub fleet: Fleet<R>,
    /// Its bulkhead.
    pub bulkhead: Bulkhead<R>,
    /// The share.
    pub share: FleetShare<R>,
}

/// Returns a process. The time that the store has to answer is long, because the machine is busy.
pub fn process<R: Platform>(runtime: R, store: impl LeaseStore) -> Fleet<R> {
    let builder = Fleet::builder(store, runtime).namespace("test").store_timeout(Duration::from_secs(3));
    builder.build().expect("the values are valid")
}

/// Returns a bulkhead of these tests.
pub fn bulkhead<R: Platform>(runtime: R) -> Bulkhead<R> {
    let builder = Bulkhead::builder_on(runtime, "payments").parallelism(100).waiting_room(10_000);
    builder.build().expect("the values are valid")
}

/// Begins the share of these tests, with leases of this time.
pub fn payments<R: Platform>(
    fleet: &Fleet<R>,
    bulkhead: &Bulkhead<R>,
    limit: usize,
    lease: Duration,
) -> ShareBuilder<R> {
    let tuning = Tuning::default().with_beat(Duration::from_millis(100));
    fleet.share(bulkhead).limit(limit).lease(lease).claim(lease / 2).tuning(tuning)
}

impl<R: Platform> Member<R> {
    /// Connects.
    pub async fn new(runtime: &R, store: impl LeaseStore, limit: usize, lease: Duration) -> Self {
        let (fleet, bulkhead) = (process(runtime.clone(), store), bulkhead(runtime.clone()));
        let share = payments(&fleet, &bulkhead, limit, lease).connect_within(Duration::from_secs(20)).connect().await;
        Self { share: share.expect("the store is in reach"), fleet, bulkhead }
    }
}

/// Two processes that share a limit.
#[derive(Debug)]
pub struct Pair<R: Platform>(pub [Member<R>; 2]);

impl<R: Platform> Pair<R> {
    /// Connects.
    pub async fn new<S: LeaseStore>(runtime: &R, stores: [S; 2], limit: usize) -> Self {
        Self::lasting(runtime, stores, limit, LEASE).await
    }

    /// Connects, for leases of this time.
    pub async fn lasting<S: LeaseStore>(runtime: &R, stores: [S; 2], limit: usize, lease: Duration) -> Self {
        let [first, second] = stores;
        Self([Member::new(runtime, first, limit, lease).await, Member::new(runtime, second, limit, lease).await])
    }

    /// Loads both processes with clients that call, hold their slot and let it go, until `faults`
    /// have happened, and counts how many hold one at the same time.
    pub async fn load(&self, clients: usize, faults: impl AsyncFnOnce(&Load)) -> Load {
        let load = Load::default();
        let clients = join_all((0..clients).map(|at| load.client(&self.0[at % 2].bulkhead)));
        select(pin!(clients), pin!(faults(&load))).await;
        load
    }

    /// Waits until the store answers both processes. More faults before that could end a lease: the
    /// pauses of a process grow until it has an answer.
    pub async fn reach_the_store(&self) {
        for Member { share, .. } in &self.0 {
            while share.look().await.is_err() {
                pass(Duration::from_millis(2)).await;
            }
        }
    }

    /// Loads both processes during faults, and panics if more than `limit` calls run at the same
    /// time, or if a lease ends: calls that run then are beyond the limit.
    pub async fn keeps_to(&self, limit: u64, faults: impl AsyncFnOnce(&Load)) {
        let lost = self.0.each_ref().map(|member| member.share.lost());
        self.load(30, faults).await.kept_to(limit);
        assert!(lost.into_iter().all(|lost| lost.now_or_never().is_none()), "a lease has ended");
    }

    /// Panics unless no unit is granted soon, and the limit is free.
    pub async fn drains(&self, limit: usize) {
        let begin = Instant::now();
        let [Member { share, bulkhead, .. }, other] = &self.0;
        loop {
            let status = share.look().await;
            if let Ok(Some(status)) = &status
                && status.granted == 0
            {
                break;
            }
            assert!(begin.elapsed() < LEASE * 8, "{status:?}");
            pass(Duration::from_millis(20)).await;
        }
        let slots = join_all((0..limit).map(|_| bulkhead.within(LEASE * 8).slot())).await;
        assert!(slots.iter().all(Result::is_ok), "{slots:?}");
        assert!(other.bulkhead.try_slot().is_err());
    }
}

/// What clients have seen.
#[derive(Debug, Default)]
pub struct Load {
    running: AtomicU64,
    most: AtomicU64,
    admitted: AtomicU64,
}

impl Load {
    /// Calls, again and again.
    async fn client<R: Platform>(&self, bulkhead: &Bulkhead<R>) {
        loop {
            let slot = bulkhead.slot().await.expect("the waiting room is large");
            let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(running, Ordering::SeqCst);
            self.admitted.fetch_add(1, Ordering::SeqCst);
            pass(Duration::from_millis(1)).await;
            self.running.fetch_sub(1, Ordering::SeqCst);
            drop(slot);
        }
    }

    /// Lets time pass, and then waits until a call is admitted: with faults that happen faster than
    /// a busy machine can connect, none would be.
    pub async fn goes_on(&self, time: Duration) {
        pass(time).await;
        let before = self.admitted.load(Ordering::SeqCst);
        while self.admitted.load(Ordering::SeqCst) == before {
            pass(Duration::from_millis(2)).await;
        }
    }

    /// Panics unless at most `limit` clients had a slot at the same time.
    pub fn kept_to(&self, limit: u64) {
        assert!(self.most.load(Ordering::SeqCst) <= limit, "{self:?}");
    }
}

const TIME: Duration = Duration::from_millis(1_500);

/// Cut connections cost no unit and admit no call too many.
pub async fn cut_connections_cost_no_unit_and_admit_no_call_too_many<R: Platform>(site: impl Site, runtime: R) {
    let proxy = Proxy::to(site.socket());
    let pair = Pair::lasting(&runtime, [site.through(&proxy), site.store()], 4, LEASE * 2).await;
    let cuts = async |load: &Load| {
        for _ in 0..15 {
            proxy.cut();
            pair.reach_the_store().await;
            load.goes_on(TIME / 20).await;
        }
    };
    pair.keeps_to(4, cuts).await;
    pair.drains(4).await;
}

/// Dropped replies leak nothing.
pub async fn dropped_replies_leak_nothing<R: Platform>(site: impl Site, runtime: R) {
    let proxy = Proxy::to(site.socket());
    let pair = Pair::lasting(&runtime, [site.through(&proxy), site.store()], 4, LEASE * 2).await;
    let drops = async |load: &Load| {
        for count in 0..9 {
            load.goes_on(TIME / 30).await;
            // One ends the connection in use, and each of the others a new one.
            proxy.drop_replies(1 + count % 3);
            while pair.0[0].share.status().error.is_none() {
                pass(Duration::from_millis(2)).await;
            }
            pair.reach_the_store().await;
        }
    };
    pair.keeps_to(4, drops).await;
    pair.drains(4).await;
}

/// A restart without data counts what runs.
pub async fn a_restart_without_data_counts_what_runs<R: Platform, S: Site>(mut site: S, runtime: R) {
    let lease = LEASE + S::RESTART;
    let Pair([one, two]) = Pair::lasting(&runtime, [site.store(), site.store()], 2, lease).await;
    let held = one.bulkhead.slot().await.unwrap();
    let token = one.share.token().unwrap();
    pass(LEASE / 2).await;
    let lost = one.share.lost();
    site.restart(Data::Empty);
    // One of two units is free; the call waits until it is certain which.
    let slot = two.bulkhead.slot().await.unwrap();
    assert!(lost.now_or_never().is_none(), "what runs is counted");
    let status = two.share.look().await.unwrap().unwrap();
    assert_eq!(status.granted, 2);
    assert!(two.share.token().unwrap() > token);
    assert!(two.bulkhead.within(LEASE / 4).slot().await.is_err());
    drop((held, slot));
}

/// A restart with data goes on.
pub async fn a_restart_with_data_goes_on<R: Platform, S: Site>(mut site: S, runtime: R) {
    let lease = LEASE + S::RESTART;
    let pair = Pair::lasting(&runtime, [site.store(), site.store()], 2, lease).await;
    let [one, two] = &pair.0;
    let held = one.bulkhead.slot().await.unwrap();
    let token = one.share.token().unwrap();
    pass(LEASE / 2).await;
    let lost = one.share.lost();
    site.restart(Data::Keep);
    let slot = two.bulkhead.slot().await.unwrap();
    assert!(lost.now_or_never().is_none() && two.share.token().unwrap() > token);
    drop((held, slot));
    pair.drains(2).await;
}

/// Futures that are dropped anywhere leak nothing.
pub async fn futures_that_are_dropped_anywhere_leak_nothing<R: Platform>(site: impl Site, runtime: R) {
    let pair = Pair::new(&runtime, [site.store(), site.store()], 3).await;
    let mut random = fastrand::Rng::with_seed(7);
    let droppings = async |load: &Load| {
        for count in 0..400 {
            let mut call = Box::pin(pair.0[count % 2].bulkhead.slot());
            for _ in 0..random.u32(0..4) {
                if (&mut call).now_or_never().is_some() {
                    break;
                }
                pass(Duration::from_micros(random.u64(0..800))).await;
            }
        }
        load.goes_on(TIME / 15).await;
    };
    pair.load(8, droppings).await.kept_to(3);
    pair.drains(3).await;
}

/// Solid queue 761 a stale holder does not free what another has.
pub async fn solid_queue_761_a_stale_holder_does_not_free_what_another_has<R: Platform>(site: impl Site, runtime: R) {
    let proxy = Proxy::to(site.socket());
    let Pair([stale, other]) = Pair::new(&runtime, [site.through(&proxy), site.store()], 1).await;
    let late = stale.bulkhead.slot().await.unwrap();
    proxy.black_hole();
    let slot = other.bulkhead.slot().await.unwrap();
    let lost = other.share.lost();
    proxy.heal();
    drop(late);
    pass(LEASE * 3 / 2).await;
    assert!(lost.now_or_never().is_none());
    assert_eq!(other.share.look().await.unwrap().unwrap().granted, 1);
    assert!(stale.bulkhead.within(LEASE / 4).slot().await.is_err());
    drop(slot);
}

/// Redisson 3046 a unit is renewed as long as it is in use.
pub async fn redisson_3046_a_unit_is_renewed_as_long_as_it_is_in_use<R: Platform>(site: impl Site, runtime: R) {
    let Pair([one, two]) = Pair::new(&runtime, [site.store(), site.store()], 1).await;
    let slot = one.bulkhead.slot().await.unwrap();
    let lost = one.share.lost();
    pass(LEASE * 3).await;
    assert!(lost.now_or_never().is_none());
    assert!(two.bulkhead.within(LEASE / 4).slot().await.is_err());
    drop(slot);
}

/// Redisson 4462 the count is right after crashes.
pub async fn redisson_4462_the_count_is_right_after_crashes<R: Platform>(site: impl Site, runtime: R) {
    let pair = Pair::new(&runtime, [site.store(), site.store()], 3).await;
    for _ in 0..3 {
        // A process that is cut off for ever is dead for the others.
        let proxy = Proxy::to(site.socket());
        let dead = Member::new(&runtime, site.through(&proxy), 3, LEASE).await;
        let slots = [dead.bulkhead.owned().slot().await.unwrap(), dead.bulkhead.owned().slot().await.unwrap()];
        proxy.black_hole();
        std::mem::forget(slots);
        // One unit is left meanwhile.
        drop(pair.0[0].bulkhead.slot().await.unwrap());
    }
    pair.drains(3).await;
}

/// Redis semaphore 205 nothing is lost under contention.
pub async fn redis_semaphore_205_nothing_is_lost_under_contention<R: Platform>(site: impl Site, runtime: R) {
    let pair = Pair::new(&runtime, [site.store(), site.store()], 5).await;
    pair.load(60, async |load| load.goes_on(Duration::from_secs(3)).await).await.kept_to(5);
    pair.drains(5).await;
}

/// Redis semaphore 127 tokens fence late holders.
pub async fn redis_semaphore_127_tokens_fence_late_holders<R: Platform>(site: impl Site, runtime: R) {
    let proxy = Proxy::to(site.socket());
    let Pair([late, other]) = Pair::new(&runtime, [site.through(&proxy), site.store()], 1).await;
    let held = late.bulkhead.slot().await.unwrap();
    let (first, lost) = (late.share.token().unwrap(), late.share.lost());
    proxy.black_hole();
    let slot = other.bulkhead.slot().await.unwrap();
    let second = other.share.token().unwrap();
    assert!(second > first, "{second:?} after {first:?}");
    lost.await;
    assert_eq!(late.share.token(), None);
    drop((held, slot));
}

/// Sentinel 3428 a limit of one runs one.
pub async fn sentinel_3428_a_limit_of_one_runs_one<R: Platform>(site: impl Site, runtime: R) {
    let pair = Pair::new(&runtime, [site.store(), site.store()], 1).await;
    pair.load(20, async |load| load.goes_on(Duration::from_secs(2)).await).await.kept_to(1);
    pair.drains(1).await;
}

/// Ended sessions change nothing.
pub async fn ended_sessions_change_nothing<R: Platform>(site: impl Site, runtime: R) {
    let pair = Pair::lasting(&runtime, [site.store(), site.store()], 4, LEASE * 2).await;
    let faults = async |load: &Load| {
        for _ in 0..15 {
            site.end_sessions();
            pair.reach_the_store().await;
            load.goes_on(TIME / 20).await;
        }
    };
    pair.keeps_to(4, faults).await;
    pair.drains(4).await;
}

/// A stopped server admits no call too many.
pub async fn a_stopped_server_admits_no_call_too_many<R: Platform>(mut site: impl Site, runtime: R) {
    let pair = Pair::new(&runtime, [site.store(), site.store()], 4).await;
    let faults = async |load: &Load| {
        for count in 0..4 {
            load.goes_on(TIME / 8).await;
            site.stop_process();
            // Longer than a claim, and than a lease.
            pass(LEASE * (1 + count % 2) * 2 / 3).await;
            site.continue_process();
        }
        load.goes_on(TIME / 8).await;
    };
    pair.load(30, faults).await.kept_to(4);
    pair.drains(4).await;
}
