//! The driver arms its timer while calls that rely on it arrive and leave.

use std::collections::BTreeSet;
use std::future::Future;
use std::num::NonZeroU64;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bulklink::{Bulkhead, Clock, Driver, DriverHome, Instant, OwnedSlotFuture, Partitions, Request, Timer, TimerError};
use loom::thread;

use crate::call::Bell;

const FAR: u64 = 20;
const NEAR: u64 = 10;

/// A runtime that exposes its live timers, and keeps its drivers until the test runs them. Loom
/// interrupts where the clock is used.
#[derive(Clone)]
struct Background {
    now: Arc<loom::sync::Mutex<u64>>,
    timers: Arc<Mutex<Vec<u64>>>,
    spawned: Arc<Mutex<Vec<Driver<Background>>>>,
}

/// A timer that is listed while it lives, and never completes.
struct Armed(u64, Arc<Mutex<Vec<u64>>>);

impl Future for Armed {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

impl Drop for Armed {
    fn drop(&mut self) {
        self.1.lock().unwrap().retain(|&due| due != self.0);
    }
}

impl Clock for Background {
    type Instant = Instant;

    fn now(&self) -> Instant {
        Instant::from_nanos(*self.now.lock().unwrap())
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }
}

impl Timer for Background {
    type Sleep = Armed;

    fn sleep_until(&self, deadline: Instant) -> Armed {
        self.timers.lock().unwrap().push(deadline.as_nanos());
        Armed(deadline.as_nanos(), Arc::clone(&self.timers))
    }

    fn home(&self) -> Result<Option<DriverHome<Self>>, TimerError> {
        Ok(Some(DriverHome::new(NonZeroU64::MIN, |runtime, driver| runtime.spawned.lock().unwrap().push(driver))))
    }
}

impl Background {
    fn new() -> Self {
        let now = Arc::new(loom::sync::Mutex::new(0));
        Background { now, timers: Arc::default(), spawned: Arc::default() }
    }

    /// Returns a bulkhead with one slot, which stays in use.
    fn taken(&self) -> Bulkhead<Self> {
        let bulkhead = Bulkhead::builder_on(self.clone(), "loom").parallelism(1).waiting_room(3).build().unwrap();
        std::mem::forget(bulkhead.try_slot());
        bulkhead
    }

    /// Returns the only driver that was spawned since the last call.
    fn driver(&self) -> Task {
        let mut spawned = std::mem::take(&mut *self.spawned.lock().unwrap());
        assert_eq!(spawned.len(), 1, "exactly one driver");
        Task { driver: spawned.pop(), bell: Bell::default(), seen: 0 }
    }

    fn set(&self, now: u64) {
        *self.now.lock().unwrap() = now;
    }

    fn timers(&self) -> Vec<u64> {
        self.timers.lock().unwrap().clone()
    }
}

/// A driver that is polled when it is woken.
struct Task {
    driver: Option<Driver<Background>>,
    bell: Bell,
    seen: usize,
}

impl Task {
    /// Polls the driver once, and drops it if it has ended.
    fn poll(&mut self) {
        if self.driver.as_mut().is_some_and(|driver| self.bell.poll(driver).is_ready()) {
            self.driver = None;
        }
    }

    /// Polls the driver as long as it has been woken.
    fn settle(&mut self) {
        while self.driver.is_some() && self.seen < self.bell.rings() {
            self.seen = self.bell.rings();
            self.poll();
        }
    }
}

type Call = OwnedSlotFuture<Background>;

fn queued(bulkhead: &Bulkhead<Background>, limit: u64) -> Call {
    let mut call = bulkhead.slot_owned_with(Request::new().within(Duration::from_nanos(limit)));
    assert!(Pin::new(&mut call).poll(&mut Context::from_waker(Waker::noop())).is_pending());
    call
}

/// Runs a scene in every order, and returns all its outcomes.
fn explore<O: Ord + Send + 'static>(scene: impl Fn(Background) -> O + Send + Sync + 'static) -> BTreeSet<O> {
    let outcomes = Arc::new(Mutex::new(BTreeSet::new()));
    loom::model({
        let outcomes = Arc::clone(&outcomes);
        move || {
            outcomes.lock().unwrap().insert(scene(Background::new()));
        }
    });
    std::mem::take(&mut *outcomes.lock().unwrap())
}

#[test]
fn a_driver_that_arms_its_timer_misses_no_nearer_deadline() {
    let rings = explore(|background| {
        let bulkhead = background.taken();
        let _far = queued(&bulkhead, FAR);
        let mut task = background.driver();
        let polled = thread::spawn(move || {
            task.poll();
            task
        });
        let _near = queued(&bulkhead, NEAR);
        let mut task = polled.join().unwrap();
        let rings = task.bell.rings();
        task.settle();
        assert_eq!(background.timers(), [NEAR]);
        rings
    });
    assert_eq!(rings, BTreeSet::from([0, 1]), "the deadline was seen, or the driver was woken for it");
}

#[test]
fn two_first_calls_share_one_driver_that_is_early_enough() {
    explore(|background| {
        let bulkhead = background.taken();
        let other = thread::spawn({
            let bulkhead = bulkhead.clone();
            move || queued(&bulkhead, NEAR)
        });
        let _far = queued(&bulkhead, FAR);
        let _near = other.join().unwrap();
        let mut task = background.driver();
        task.poll();
        task.settle();
        assert_eq!(background.timers(), [NEAR]);
    });
}

#[test]
fn a_call_that_arrives_as_the_driver_ends_has_one() {
    let ended = explore(|background| {
        let bulkhead = background.taken();
        drop(queued(&bulkhead, NEAR));
        let mut task = background.driver();
        background.set(NEAR);
        let polled = thread::spawn(move || {
            task.poll();
            task
        });
        let _late = queued(&bulkhead, NEAR);
        let mut task = polled.join().unwrap();
        let ended = task.driver.is_none();
        if ended {
            task = background.driver();
            task.poll();
        }
        task.settle();
        assert_eq!(background.timers(), [NEAR + NEAR]);
        ended
    });
    assert_eq!(ended, BTreeSet::from([false, true]));
}

#[test]
fn the_driver_ends_when_its_bulkhead_is_dropped() {
    let rings = explore(|background| {
        let bulkhead = background.taken();
        let call = queued(&bulkhead, FAR);
        let mut task = background.driver();
        // Loom does not see which thread drops the bulkhead last. A lock that both take makes it
        // try both orders.
        let polled = thread::spawn({
            let background = background.clone();
            move || {
                background.set(1);
                task.poll();
                task
            }
        });
        background.set(1);
        drop((call, bulkhead));
        let mut task = polled.join().unwrap();
        let rings = task.bell.rings();
        task.settle();
        assert!(task.driver.is_none(), "the driver does not wait for its timer");
        rings
    });
    assert_eq!(rings, BTreeSet::from([0, 1]), "the driver is gone already, or was woken for it");
}

#[test]
fn a_partition_has_a_driver_only_while_a_call_waits() {
    let waits = explore(|background| {
        let builder = Partitions::builder_on(background.clone(), "loom").parallelism(1).waiting_room(3);
        let tenants: Partitions<u8, _> = builder.max_partitions(1).build().unwrap();
        let limit = |nanos| Request::new().within(Duration::from_nanos(nanos));
        let wait = || {
            let mut call = tenants.slot_with(&1, limit(FAR));
            assert!(Pin::new(&mut call).poll(&mut Context::from_waker(Waker::noop())).is_pending());
            call
        };
        let running = tenants.try_slot(&1).unwrap();
        drop(wait());
        let mut task = background.driver();
        task.poll();
        let ended = thread::spawn(move || drop(running));
        let next = tenants.try_slot(&1).ok().map(|slot| (slot, wait()));
        ended.join().unwrap();
        task.settle();
        let drivers = background.spawned.lock().unwrap().len();
        assert!(drivers == 0 || task.driver.is_none(), "one driver, the old or a new one");
        assert_eq!(background.timers().len(), usize::from(next.is_some()), "no driver is left where no call waits");
        next.is_some()
    });
    assert_eq!(waits, BTreeSet::from([false, true]));
}

#[test]
fn a_call_whose_runtime_is_dropped_gets_a_new_driver() {
    explore(|background| {
        let bulkhead = background.taken();
        let _first = queued(&bulkhead, FAR);
        let task = background.driver();
        let gone = thread::spawn(move || drop(task));
        let mut second = queued(&bulkhead, FAR);
        gone.join().unwrap();
        // On the runtime that the call moves to.
        assert!(Pin::new(&mut second).poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let mut task = background.driver();
        task.poll();
        assert_eq!(background.timers(), [FAR]);
    });
}
