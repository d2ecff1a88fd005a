//! Wakers are foreign code: they run and are dropped outside the lock, and a panic of one stops no
//! other.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};

use bulklink::runtime::{Clock, Instant, Timer};
use bulklink::testing::FakeClock;
use bulklink::{Bulkhead, Rejection, Slot};

use crate::{TestBulkhead, bulkhead, executor, ms};

/// A waker that counts, and panics or reads the status when it is woken or dropped.
struct Probe {
    bulkhead: TestBulkhead,
    woken: Arc<AtomicUsize>,
    panics: bool,
}

impl Wake for Probe {
    fn wake(self: Arc<Self>) {
        drop(self.bulkhead.status());
        self.woken.fetch_add(1, SeqCst);
        assert!(!self.panics, "a waker that panics, on purpose");
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        drop(self.bulkhead.status());
    }
}

fn probe(bulkhead: &TestBulkhead, woken: &Arc<AtomicUsize>, panics: bool) -> Waker {
    Waker::from(Arc::new(Probe { bulkhead: bulkhead.clone(), woken: Arc::clone(woken), panics }))
}

type Wait<'a> = Pin<Box<dyn Future<Output = Result<Slot<'a>, Rejection>> + 'a>>;

fn wait<'a>(bulkhead: &'a TestBulkhead, waker: &Waker) -> Wait<'a> {
    let mut wait: Wait<'a> = Box::pin(bulkhead.slot());
    assert!(wait.as_mut().poll(&mut Context::from_waker(waker)).is_pending());
    wait
}

#[test]
fn only_the_last_waker_is_woken_and_others_are_dropped() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    let running = bulkhead.try_slot().expect("free");
    let (first, second) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut waiting = wait(&bulkhead, &probe(&bulkhead, &first, false));
    let waker = probe(&bulkhead, &second, false);
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    assert_eq!(Arc::strong_count(&first), 1, "the displaced waker is gone");
    drop(running);
    assert_eq!((first.load(SeqCst), second.load(SeqCst)), (0, 1));
    assert!(matches!(waiting.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Ready(Ok(_))));
}

#[test]
fn polling_again_with_the_same_waker_clones_nothing() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    let _running = bulkhead.try_slot().expect("free");
    let probe = Arc::new(Probe { bulkhead: bulkhead.clone(), woken: Arc::default(), panics: false });
    let waker = Waker::from(Arc::clone(&probe));
    let mut waiting = wait(&bulkhead, &waker);
    let clones = Arc::strong_count(&probe);
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    assert_eq!(Arc::strong_count(&probe), clones);
}

#[test]
fn a_waker_that_panics_stops_no_other_of_its_batch() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 100);
    let _running = bulkhead.try_slot().expect("free");
    let woken = Arc::new(AtomicUsize::new(0));
    let _waits: Vec<_> = (0..100).map(|number| wait(&bulkhead, &probe(&bulkhead, &woken, number % 7 == 0))).collect();
    bulkhead.close();
    assert_eq!(woken.load(SeqCst), 100);
}

#[test]
fn a_waker_that_panics_during_a_panic_does_not_abort() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 2, 2);
    let woken = Arc::new(AtomicUsize::new(0));
    let slots = [bulkhead.try_slot().expect("free"), bulkhead.try_slot().expect("free")];
    let waits = [true, false].map(|panics| wait(&bulkhead, &probe(&bulkhead, &woken, panics)));
    let unwound = catch_unwind(AssertUnwindSafe(move || {
        let _slots = slots;
        panic!("the operation fails, on purpose");
    }));
    assert!(unwound.is_err());
    assert_eq!(woken.load(SeqCst), 2);
    drop(waits);
    assert_eq!((bulkhead.status().in_flight, bulkhead.status().totals.abandoned), (0, 2));
}

#[test]
fn a_wait_for_the_drain_can_change_its_waker() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let running = bulkhead.try_slot().expect("free");
    let (first, second) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut closed = pin!(bulkhead.handle().closed());
    for woken in [&first, &second, &second] {
        let waker = probe(&bulkhead, woken, false);
        assert!(closed.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    bulkhead.close();
    drop(running);
    assert_eq!((first.load(SeqCst), second.load(SeqCst)), (0, 1));
    assert!(closed.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
}

/// A timer that panics when it is dropped.
struct BadTimer(bool);

impl Future for BadTimer {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

impl Drop for BadTimer {
    fn drop(&mut self) {
        assert!(self.0, "a timer that panics, on purpose");
    }
}

#[derive(Clone)]
struct BadRuntime(FakeClock);

impl Clock for BadRuntime {
    type Instant = Instant;

    fn now(&self) -> Instant {
        self.0.now()
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }
}

impl Timer for BadRuntime {
    type Sleep = BadTimer;

    fn sleep_until(&self, _deadline: Instant) -> BadTimer {
        BadTimer(false)
    }
}

#[test]
fn a_timer_that_panics_when_dropped_loses_no_slot() {
    let bulkhead = Bulkhead::builder_on(BadRuntime(FakeClock::new()), "test").parallelism(1).waiting_room(1);
    let bulkhead = bulkhead.wait_limit(ms(10)).build().expect("valid");
    let running = bulkhead.try_slot().expect("free");
    let mut waiting = Box::pin(bulkhead.slot());
    let mut context = Context::from_waker(Waker::noop());
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    drop(running);
    let collected = catch_unwind(AssertUnwindSafe(|| waiting.as_mut().poll(&mut context).is_ready()));
    assert!(collected.is_err(), "the timer was dropped");
    assert_eq!(bulkhead.status().in_flight, 0);
}

#[test]
fn a_waker_that_panics_when_dropped_loses_no_slot() {
    struct BadWaker(Arc<AtomicUsize>);
    impl Wake for BadWaker {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for BadWaker {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
            panic!("a waker that panics when dropped, on purpose");
        }
    }
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    let running = bulkhead.try_slot().expect("free");
    let dropped = Arc::new(AtomicUsize::new(0));
    let mut waiting = wait(&bulkhead, Waker::noop());
    {
        // The waker is parked, then displaced: the next poll drops its last clone.
        let waker = Waker::from(Arc::new(BadWaker(Arc::clone(&dropped))));
        assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert_eq!(dropped.load(SeqCst), 1);
    drop(running);
    executor.run_until_idle();
    let Poll::Ready(Ok(slot)) = waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())) else { panic!("free") };
    drop(slot);
    assert_eq!(bulkhead.status().in_flight, 0);
}

#[test]
fn waiters_are_woken_in_fifo_order() {
    struct Numbered(usize, Arc<std::sync::Mutex<Vec<usize>>>);
    impl Wake for Numbered {
        fn wake(self: Arc<Self>) {
            self.1.lock().expect("no panic").push(self.0);
        }
    }
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 40);
    let _running = bulkhead.try_slot().expect("free");
    let order = Arc::default();
    let numbered = |number| Waker::from(Arc::new(Numbered(number, Arc::clone(&order))));
    let _waits: Vec<_> = (0..40).map(|number| wait(&bulkhead, &numbered(number))).collect();
    bulkhead.close();
    assert_eq!(*order.lock().expect("no panic"), (0..40).collect::<Vec<_>>());
}

#[test]
fn a_dropped_wait_for_the_drain_leaves_no_waker_behind() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let woken = Arc::new(AtomicUsize::new(0));
    let waker = probe(&bulkhead, &woken, false);
    let mut closed = Box::pin(bulkhead.handle().closed());
    assert!(closed.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    drop((closed, waker));
    assert_eq!(Arc::strong_count(&woken), 1);
}

/// The payload of a panic is foreign code too.
#[test]
fn a_panic_payload_that_panics_when_dropped_loses_no_slot() {
    struct Payload;
    impl Drop for Payload {
        fn drop(&mut self) {
            panic!("a panic payload that panics when dropped, on purpose");
        }
    }
    struct Thrower;
    impl Wake for Thrower {
        fn wake(self: Arc<Self>) {
            std::panic::panic_any(Payload);
        }
    }
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 2);
    let woken = Arc::new(AtomicUsize::new(0));
    let running = bulkhead.try_slot().expect("free");
    let _waits = [wait(&bulkhead, &Waker::from(Arc::new(Thrower))), wait(&bulkhead, &probe(&bulkhead, &woken, false))];
    bulkhead.close();
    assert_eq!(woken.load(SeqCst), 1);
    drop(running);
    assert!(bulkhead.status().is_drained());
}
