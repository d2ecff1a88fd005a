//! The driver: one background timer for all waiters of a runtime.

use std::future::Future;
use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;

use bulklink::runtime::{Clock, Driver, DriverHome, Instant, Timer, TimerError};
use bulklink::testing::{Executor, FakeClock, FakeSleep};
use bulklink::{Bulkhead, OwnedSlotFuture, Partitions, Reason};

use crate::{CountingWaker, ms};

pub(crate) type Drivers = Vec<Driver<Background>>;
pub(crate) type Call = Pin<Box<OwnedSlotFuture<Background>>>;

/// A runtime that keeps its drivers until the test runs them.
#[derive(Clone)]
pub(crate) struct Background {
    clock: FakeClock,
    /// Zero means none.
    home: Arc<AtomicU64>,
    home_calls: Arc<AtomicUsize>,
    spawned: Arc<Mutex<Drivers>>,
    spawns: Arc<AtomicUsize>,
    timers: Arc<AtomicUsize>,
    refuses: Option<fn()>,
    /// The home that takes no driver.
    refusing: Arc<AtomicU64>,
}

impl Default for Background {
    fn default() -> Self {
        Background {
            clock: FakeClock::new(),
            home: Arc::new(AtomicU64::new(1)),
            home_calls: Arc::default(),
            spawned: Arc::default(),
            spawns: Arc::default(),
            timers: Arc::default(),
            refuses: None,
            refusing: Arc::default(),
        }
    }
}

impl Clock for Background {
    type Instant = Instant;

    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }
}

impl Timer for Background {
    type Sleep = FakeSleep;

    fn sleep_until(&self, deadline: Instant) -> FakeSleep {
        self.timers.fetch_add(1, SeqCst);
        self.clock.sleep_until(deadline)
    }

    fn home(&self) -> Result<Option<DriverHome<Self>>, TimerError> {
        self.home_calls.fetch_add(1, SeqCst);
        Ok(NonZeroU64::new(self.home.load(SeqCst)).map(|id| DriverHome::new(id, Background::spawn)))
    }
}

impl Background {
    fn spawn(&self, driver: Driver<Self>) {
        self.spawns.fetch_add(1, SeqCst);
        match self.refuses {
            Some(refuse) => refuse(),
            None if self.home.load(SeqCst) == self.refusing.load(SeqCst) => drop(driver),
            None => self.spawned.lock().expect("no panic").push(driver),
        }
    }

    /// Returns a bulkhead with one slot, which stays in use.
    fn taken(&self, room: usize) -> Bulkhead<Self> {
        let bulkhead = Bulkhead::builder_on(self.clone(), "test").parallelism(1).waiting_room(room);
        let bulkhead = bulkhead.build().expect("valid");
        std::mem::forget(bulkhead.try_slot());
        bulkhead
    }

    fn counts(&self) -> (usize, usize) {
        (self.spawns.load(SeqCst), self.timers.load(SeqCst))
    }

    pub(crate) fn clock(&self) -> FakeClock {
        self.clock.clone()
    }

    /// Drops the drivers that do not run yet. From now on, calls are on another runtime.
    pub(crate) fn end_runtime(&self) {
        drop(std::mem::take(&mut *self.spawned.lock().expect("no panic")));
        self.home.fetch_add(1, SeqCst);
    }

    pub(crate) fn refuse_drivers(&self) {
        self.refusing.store(self.home.load(SeqCst), SeqCst);
    }

    pub(crate) fn spawns(&self) -> usize {
        self.spawns.load(SeqCst)
    }

    /// Runs the spawned drivers, and lets time pass.
    pub(crate) fn advance(&self, executor: &mut Executor, by: Duration) {
        for driver in self.spawned.lock().expect("no panic").drain(..) {
            drop(executor.spawn(driver));
        }
        executor.advance(by);
    }
}

fn setup() -> (Background, Executor, Bulkhead<Background>) {
    setup_with_room(9)
}

fn setup_with_room(room: usize) -> (Background, Executor, Bulkhead<Background>) {
    let background = Background::default();
    let (executor, bulkhead) = (Executor::new(background.clock.clone()), background.taken(room));
    (background, executor, bulkhead)
}

/// Returns a call that was polled once.
fn queued(bulkhead: &Bulkhead<Background>, limit: Duration) -> Call {
    queued_with(bulkhead, limit, Waker::noop())
}

fn queued_with(bulkhead: &Bulkhead<Background>, limit: Duration, waker: &Waker) -> Call {
    let mut call = Box::pin(bulkhead.within(limit).slot());
    assert!(call.as_mut().poll(&mut Context::from_waker(waker)).is_pending());
    call
}

#[test]
fn one_timer_serves_all_waiters_and_is_exact() {
    let (background, mut executor, bulkhead) = setup();
    let _calls = [ms(10), ms(20), ms(15), ms(30)].map(|limit| queued(&bulkhead, limit));
    assert_eq!(background.counts(), (1, 1));
    for (passed, expired) in [(9, 0), (1, 1), (4, 1), (1, 2), (5, 3), (9, 3), (1, 4)] {
        background.advance(&mut executor, ms(passed));
        assert_eq!(bulkhead.status().totals.expired, expired);
    }
    assert_eq!(background.counts(), (1, 4), "the timer is armed once for each deadline");
}

#[test]
fn a_queue_that_empties_and_fills_again_needs_one_driver() {
    let (background, mut executor, bulkhead) = setup();
    for _ in 0..10 {
        drop(queued(&bulkhead, ms(100)));
        background.advance(&mut executor, ms(9));
    }
    assert_eq!(background.counts(), (1, 1));
    background.advance(&mut executor, ms(10));
    assert_eq!(executor.clock().next_timer(), None, "the driver has ended");
    let _next = queued(&bulkhead, ms(100));
    assert_eq!(background.counts(), (2, 2));
}

#[test]
fn a_deadline_whose_waiter_has_left_is_forgotten() {
    let (background, mut executor, bulkhead) = setup();
    let _far = queued(&bulkhead, ms(50));
    background.advance(&mut executor, ms(1));
    drop(queued(&bulkhead, ms(10)));
    let near = queued(&bulkhead, ms(20));
    background.advance(&mut executor, ms(19));
    assert_eq!(bulkhead.status().totals.expired, 0);
    background.advance(&mut executor, ms(1));
    assert_eq!(bulkhead.status().totals.expired, 1);
    drop(near);
    background.advance(&mut executor, ms(29));
    assert_eq!(bulkhead.status().totals.expired, 2);
    assert_eq!(background.counts().0, 1);
}

#[test]
fn each_runtime_has_its_own_driver() {
    let (background, mut executor, bulkhead) = setup();
    let _calls = [1, 2, 1, 2].map(|home| {
        background.home.store(home, SeqCst);
        queued(&bulkhead, ms(10))
    });
    assert_eq!(background.counts(), (2, 2));
    drop(background.spawned.lock().expect("no panic").remove(0));
    background.advance(&mut executor, ms(10));
    assert_eq!(bulkhead.status().totals.expired, 4);
}

#[test]
fn a_call_polled_on_another_runtime_gets_a_driver_there() {
    let (background, mut executor, bulkhead) = setup();
    let mut call = queued(&bulkhead, ms(10));
    background.spawned.lock().expect("no panic").clear();
    background.home.store(2, SeqCst);
    assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    background.advance(&mut executor, ms(10));
    assert_eq!(bulkhead.status().totals.expired, 1);
}

#[test]
fn a_call_polled_outside_any_runtime_keeps_its_driver() {
    let (background, mut executor, bulkhead) = setup();
    let mut call = queued(&bulkhead, ms(10));
    background.home.store(0, SeqCst);
    assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert_eq!(background.counts(), (1, 1));
    background.advance(&mut executor, ms(10));
    assert_eq!(bulkhead.status().totals.expired, 1);
}

/// The next poll may be on the same runtime, without its driver.
#[test]
fn a_call_whose_driver_is_gone_gets_a_new_one() {
    let (background, mut executor, bulkhead) = setup();
    let mut call = queued(&bulkhead, ms(10));
    background.spawned.lock().expect("no panic").clear();
    assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert_eq!(background.counts(), (2, 2));
    background.advance(&mut executor, ms(10));
    assert_eq!(bulkhead.status().totals.expired, 1);
}

#[test]
fn a_wait_without_a_limit_needs_no_driver() {
    let (background, _, bulkhead) = setup();
    let (mut call, limited) = (Box::pin(bulkhead.owned().slot()), bulkhead.within(ms(9)).try_slot());
    for _ in 0..2 {
        assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    assert!(limited.is_err());
    assert_eq!((background.counts(), background.home_calls.load(SeqCst)), ((0, 0), 0));
}

#[test]
fn without_a_driver_each_call_has_its_own_timer() {
    let background = Background { refuses: Some(|| {}), ..Background::default() };
    let (bulkhead, mut executor) = (background.taken(9), Executor::new(background.clock.clone()));
    let calls = [ms(10), ms(20)].map(|limit| executor.spawn(bulkhead.within(limit).slot()));
    executor.advance(ms(20));
    let reasons = calls.map(|call| call.output().expect("it is late").expect_err("too late").reason());
    assert_eq!(reasons, [Reason::Expired; 2]);
}

#[test]
fn a_driver_that_ends_wakes_only_its_own_calls() {
    let (background, mut executor, bulkhead) = setup_with_room(200);
    let counts = [1, 2].map(|home| {
        background.home.store(home, SeqCst);
        let counts = Arc::new(CountingWaker::default());
        let calls: Vec<_> =
            (0..50).map(|_| queued_with(&bulkhead, ms(10), &Waker::from(Arc::clone(&counts)))).collect();
        (counts, calls)
    });
    let woken = || counts.each_ref().map(|(counts, _)| counts.wakes());
    drop(background.spawned.lock().expect("no panic").remove(0));
    assert_eq!(woken(), [50, 0]);
    background.advance(&mut executor, ms(10));
    assert_eq!(bulkhead.status().totals.expired, 100, "the other driver expired all calls");
    assert_eq!(woken(), [50, 50], "the woken calls have not been polled since");
}

#[test]
fn a_runtime_that_takes_no_driver_is_asked_once() {
    let background = Background { refuses: Some(|| {}), ..Background::default() };
    let bulkhead = background.taken(200);
    let counts = Arc::new(CountingWaker::default());
    let calls: Vec<_> = (0..200).map(|_| queued_with(&bulkhead, ms(10), &Waker::from(Arc::clone(&counts)))).collect();
    assert_eq!((counts.wakes(), background.counts().0), (0, 1));
    drop(calls);
    let _first = queued(&bulkhead, ms(10));
    assert_eq!(background.counts().0, 2, "asked again, as no other call waits");
}

#[test]
fn on_a_runtime_without_drivers_moved_calls_have_timers() {
    let (background, mut executor, bulkhead) = setup();
    background.refusing.store(2, SeqCst);
    let _later = queued(&bulkhead, ms(50));
    let _never_runs = std::mem::take(&mut *background.spawned.lock().expect("no panic"));
    for is_remembered in [false, true] {
        background.home.store(1, SeqCst);
        let mut call = queued(&bulkhead, ms(10));
        background.home.store(2, SeqCst);
        let moved = executor.spawn(std::future::poll_fn(move |context| call.as_mut().poll(context)));
        executor.advance(ms(10));
        let late = moved.output().expect("the driver never ran").expect_err("too late");
        assert_eq!(late.reason(), Reason::Expired, "the refusal is known already: {is_remembered}");
    }
    assert_eq!(background.counts().0, 2);
}

#[test]
fn a_driver_ends_when_its_partition_becomes_idle() {
    let background = Background::default();
    let mut executor = Executor::new(background.clock.clone());
    let builder = Partitions::builder_on(background.clone(), "tenants").parallelism(1).waiting_room(9);
    let tenants: Partitions<u64, _> = builder.max_partitions(9).build().expect("valid");
    let queued = |tenant: u64| {
        let mut call = Box::pin(tenants.key(&tenant).within(ms(100)).slot());
        assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        call
    };
    for settled in [false, true] {
        let running = tenants.key(&1).try_slot().expect("free");
        let calls = [queued(1), queued(1)];
        if settled {
            background.advance(&mut executor, ms(1));
        }
        drop(calls);
        background.advance(&mut executor, ms(1));
        assert!(executor.clock().next_timer().is_some(), "the partition is in use");
        drop(running);
        background.advance(&mut executor, ms(1));
        assert_eq!(executor.clock().next_timer(), None, "the partition is idle");
    }
    // A call that arrives before the driver has ended still uses it.
    let running = tenants.key(&1).try_slot().expect("free");
    drop(queued(1));
    background.advance(&mut executor, ms(1));
    drop(running);
    let running = tenants.key(&1).try_slot().expect("free");
    let late = queued(1);
    background.advance(&mut executor, ms(100));
    assert_eq!(tenants.partition(&1).expect("in use").status().totals.expired, 1);
    assert_eq!(background.counts().0, 3);
    drop((running, late));
}

#[test]
fn no_call_relies_on_a_driver_whose_spawn_panicked() {
    let background = Background { refuses: Some(|| panic!("no tasks here, on purpose")), ..Background::default() };
    let bulkhead = background.taken(9);
    for spawns in 1..=2 {
        assert!(catch_unwind(AssertUnwindSafe(|| queued(&bulkhead, ms(10)))).is_err());
        assert_eq!((bulkhead.status().waiting, background.counts().0), (0, spawns));
    }
}

#[test]
fn a_poll_expires_a_late_call_despite_a_delayed_driver() {
    let (background, _, bulkhead) = setup();
    let mut call = queued(&bulkhead, ms(10));
    background.clock.advance(ms(10));
    assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
}

#[test]
fn the_driver_ends_with_its_bulkhead() {
    let (background, mut executor, bulkhead) = setup();
    let call = queued(&bulkhead, ms(10));
    background.advance(&mut executor, ms(1));
    drop((call, bulkhead));
    executor.run_until_idle();
    assert_eq!(executor.clock().next_timer(), None);
}
