//! One timer in the background for all who wait, on a runtime that can run it.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;

use bulklink::testing::{Executor, FakeClock, FakeSleep};
use bulklink::{Bulkhead, Clock, Driver, Home, Instant, OwnedSlotFuture, Reason, Request, Timer};

use crate::ms;

type Drivers = Vec<Driver<Background>>;

/// A runtime that keeps what it is asked to run until a test comes for it.
#[derive(Clone)]
struct Background {
    clock: FakeClock,
    /// Zero stands for none.
    home: Arc<AtomicU64>,
    looks: Arc<AtomicUsize>,
    spawned: Arc<Mutex<Drivers>>,
    spawns: Arc<AtomicUsize>,
    timers: Arc<AtomicUsize>,
    refuses: Option<fn()>,
}

impl Default for Background {
    fn default() -> Self {
        Background {
            clock: FakeClock::new(),
            home: Arc::new(AtomicU64::new(1)),
            looks: Arc::default(),
            spawned: Arc::default(),
            spawns: Arc::default(),
            timers: Arc::default(),
            refuses: None,
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

    fn home(&self) -> Option<Home<Self>> {
        self.looks.fetch_add(1, SeqCst);
        let id = Some(self.home.load(SeqCst)).filter(|&id| id > 0);
        id.map(|id| Home::new(id, Background::spawn))
    }
}

impl Background {
    fn spawn(&self, driver: Driver<Self>) {
        self.spawns.fetch_add(1, SeqCst);
        match self.refuses {
            Some(refuse) => refuse(),
            None => self.spawned.lock().expect("no panic").push(driver),
        }
    }

    /// A bulkhead whose only slot is taken for good.
    fn taken(&self) -> Bulkhead<Self> {
        let bulkhead = Bulkhead::builder_on(self.clone(), "test").parallelism(1).waiting_room(9);
        let bulkhead = bulkhead.build().expect("valid");
        std::mem::forget(bulkhead.try_slot());
        bulkhead
    }

    fn counts(&self) -> (usize, usize) {
        (self.spawns.load(SeqCst), self.timers.load(SeqCst))
    }

    /// Runs what was spawned, and lets time pass.
    fn advance(&self, executor: &mut Executor, by: Duration) {
        for driver in self.spawned.lock().expect("no panic").drain(..) {
            drop(executor.spawn(driver));
        }
        executor.advance(by);
    }
}

fn setup() -> (Background, Executor, Bulkhead<Background>) {
    let background = Background::default();
    let (executor, bulkhead) = (Executor::new(background.clock.clone()), background.taken());
    (background, executor, bulkhead)
}

/// A call that is polled once, and never again.
fn queued(bulkhead: &Bulkhead<Background>, limit: Duration) -> Pin<Box<OwnedSlotFuture<Background>>> {
    let mut call = Box::pin(bulkhead.slot_owned_with(Request::new().within(limit)));
    assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    call
}

#[test]
fn one_timer_serves_all_and_is_exact() {
    let (background, mut executor, bulkhead) = setup();
    let _calls = [ms(10), ms(20), ms(15), ms(30)].map(|limit| queued(&bulkhead, limit));
    assert_eq!(background.counts(), (1, 1));
    for (passed, expired) in [(9, 0), (1, 1), (4, 1), (1, 2), (5, 3), (9, 3), (1, 4)] {
        background.advance(&mut executor, ms(passed));
        assert_eq!(bulkhead.status().totals.expired, expired);
    }
    assert_eq!(background.counts(), (1, 4), "armed once for each deadline");
}

#[test]
fn a_queue_that_flickers_costs_one_driver() {
    let (background, mut executor, bulkhead) = setup();
    for _ in 0..10 {
        drop(queued(&bulkhead, ms(100)));
        background.advance(&mut executor, ms(9));
    }
    assert_eq!(background.counts(), (1, 1));
    background.advance(&mut executor, ms(10));
    assert_eq!(executor.clock().next_timer(), None, "it has ended");
    let _next = queued(&bulkhead, ms(100));
    assert_eq!(background.counts(), (2, 2));
}

#[test]
fn a_deadline_that_is_gone_again_is_forgotten() {
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
fn each_runtime_has_its_own() {
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
fn a_call_that_is_polled_on_another_runtime_finds_a_driver_there() {
    let (background, mut executor, bulkhead) = setup();
    let mut call = queued(&bulkhead, ms(10));
    background.spawned.lock().expect("no panic").clear();
    background.home.store(2, SeqCst);
    assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    background.advance(&mut executor, ms(10));
    assert_eq!(bulkhead.status().totals.expired, 1);
}

#[test]
fn a_call_that_is_polled_outside_of_all_runtimes_keeps_its_driver() {
    let (background, mut executor, bulkhead) = setup();
    let mut call = queued(&bulkhead, ms(10));
    background.home.store(0, SeqCst);
    assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert_eq!(background.counts(), (1, 1));
    background.advance(&mut executor, ms(10));
    assert_eq!(bulkhead.status().totals.expired, 1);
}

/// It may be polled again on the runtime whose driver is gone.
#[test]
fn a_call_whose_driver_is_gone_looks_for_another_even_there() {
    let (background, mut executor, bulkhead) = setup();
    let mut call = queued(&bulkhead, ms(10));
    background.spawned.lock().expect("no panic").clear();
    assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert_eq!(background.counts(), (2, 2));
    background.advance(&mut executor, ms(10));
    assert_eq!(bulkhead.status().totals.expired, 1);
}

#[test]
fn a_wait_without_an_end_has_nothing_to_do_with_it() {
    let (background, _, bulkhead) = setup();
    let (mut call, hurried) = (Box::pin(bulkhead.slot_owned()), bulkhead.try_slot_with(Request::new().within(ms(9))));
    for _ in 0..2 {
        assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    assert!(hurried.is_err());
    assert_eq!((background.counts(), background.looks.load(SeqCst)), ((0, 0), 0));
}

#[test]
fn where_it_is_refused_each_call_has_a_timer_of_its_own() {
    let background = Background { refuses: Some(|| {}), ..Background::default() };
    let (bulkhead, mut executor) = (background.taken(), Executor::new(background.clock.clone()));
    let calls = [ms(10), ms(20)].map(|limit| executor.spawn(bulkhead.slot_owned_with(Request::new().within(limit))));
    executor.advance(ms(20));
    let reasons = calls.map(|call| call.output().expect("it is late").expect_err("too late").reason());
    assert_eq!(reasons, [Reason::Expired; 2]);
}

#[test]
fn where_spawning_panics_nobody_counts_on_it() {
    let background = Background { refuses: Some(|| panic!("no tasks here, on purpose")), ..Background::default() };
    let bulkhead = background.taken();
    for spawns in 1..=2 {
        assert!(catch_unwind(AssertUnwindSafe(|| queued(&bulkhead, ms(10)))).is_err());
        assert_eq!((bulkhead.status().waiting, background.counts().0), (0, spawns));
    }
}

#[test]
fn who_is_late_hears_it_by_the_clock_though_the_driver_is_held_up() {
    let (background, _, bulkhead) = setup();
    let mut call = queued(&bulkhead, ms(10));
    background.clock.advance(ms(10));
    assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
}

#[test]
fn it_holds_no_bulkhead_and_ends_with_it() {
    let (background, mut executor, bulkhead) = setup();
    let call = queued(&bulkhead, ms(10));
    background.advance(&mut executor, ms(1));
    drop((call, bulkhead));
    executor.run_until_idle();
    assert_eq!(executor.clock().next_timer(), None);
}
