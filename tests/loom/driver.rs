//! The driver arms its timer while calls that rely on it arrive and leave.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::future::Future;
use std::num::NonZeroU64;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bulklink::runtime::{Clock, Driver, DriverHome, Instant, Timer, TimerError};
use bulklink::{Bulkhead, OwnedSlotFuture, Partitions, Request};
use loom::thread;

use crate::call::Task;
use crate::model::{in_every_order, on_a_thread};

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
    fn driver(&self) -> Task<Driver<Self>> {
        let mut spawned = std::mem::take(&mut *self.spawned.lock().unwrap());
        assert_eq!(spawned.len(), 1, "exactly one driver is spawned");
        Task::new(spawned.remove(0))
    }

    fn set(&self, now: u64) {
        *self.now.lock().unwrap() = now;
    }

    fn timers(&self) -> Vec<u64> {
        self.timers.lock().unwrap().clone()
    }
}

type Call = OwnedSlotFuture<Background>;

fn queued(bulkhead: &Bulkhead<Background>, limit: u64) -> Call {
    let mut call = bulkhead.within(Duration::from_nanos(limit)).slot();
    assert!(Pin::new(&mut call).poll(&mut Context::from_waker(Waker::noop())).is_pending());
    call
}

/// Runs a scene in every order, and returns all its outcomes.
fn explore<O: Ord + Debug + Send + 'static>(scene: impl Fn(Background) -> O + Send + Sync + 'static) -> BTreeSet<O> {
    in_every_order(None, move || scene(Background::new()))
}

#[test]
fn a_driver_that_arms_its_timer_misses_no_nearer_deadline() {
    let wakes = explore(|background| {
        let bulkhead = background.taken();
        let _far = queued(&bulkhead, FAR);
        let mut task = background.driver();
        let polled = thread::spawn(move || {
            task.poll();
            task
        });
        let _near = queued(&bulkhead, NEAR);
        let mut task = polled.join().unwrap();
        let wakes = task.waker.wakes();
        task.settle();
        assert_eq!(background.timers(), [NEAR]);
        wakes
    });
    assert_eq!(wakes, BTreeSet::from([0, 1]), "the driver has seen the deadline, or was woken for it");
}

#[test]
fn two_first_calls_share_one_driver_that_is_early_enough() {
    explore(|background| {
        let bulkhead = background.taken();
        let other = on_a_thread(&bulkhead, |bulkhead| queued(bulkhead, NEAR));
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
        let ended = task.future.is_none();
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
    let wakes = explore(|background| {
        let bulkhead = background.taken();
        let call = queued(&bulkhead, FAR);
        let mut task = background.driver();
        // Loom does not see which thread drops the bulkhead last. A lock that both take makes it
        // try both orders.
        let polled = on_a_thread(&background, move |background| {
            background.set(1);
            task.poll();
            task
        });
        background.set(1);
        drop((call, bulkhead));
        let mut task = polled.join().unwrap();
        let wakes = task.waker.wakes();
        task.settle();
        assert!(task.future.is_none(), "the driver does not wait for its timer");
        wakes
    });
    assert_eq!(wakes, BTreeSet::from([0, 1]), "the driver has ended, or was woken by the drop");
}

#[test]
fn a_partition_has_a_driver_only_while_a_call_waits() {
    let waits = explore(|background| {
        let builder = Partitions::builder_on(background.clone(), "loom").parallelism(1).waiting_room(3);
        let tenants: Partitions<u8, _> = builder.max_partitions(1).build().unwrap();
        let limit = |nanos| Request::new().within(Duration::from_nanos(nanos));
        let wait = || {
            let mut call = tenants.key(&1).with(limit(FAR)).slot();
            assert!(Pin::new(&mut call).poll(&mut Context::from_waker(Waker::noop())).is_pending());
            call
        };
        let running = tenants.key(&1).try_slot().unwrap();
        drop(wait());
        let mut task = background.driver();
        task.poll();
        let ended = thread::spawn(move || drop(running));
        let next = tenants.key(&1).try_slot().ok().map(|slot| (slot, wait()));
        ended.join().unwrap();
        task.settle();
        let drivers = background.spawned.lock().unwrap().len();
        assert!(drivers == 0 || task.future.is_none(), "both drivers run");
        assert_eq!(
            background.timers().len(),
            usize::from(next.is_some()),
            "a driver must have a timer if and only if a call waits"
        );
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
        // The next poll is on another runtime, where the call gets a new driver.
        assert!(Pin::new(&mut second).poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let mut task = background.driver();
        task.poll();
        assert_eq!(background.timers(), [FAR]);
    });
}
