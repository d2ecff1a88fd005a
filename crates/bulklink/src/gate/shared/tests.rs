//! Which calls take no lock, and which read the clock before it. The tests hold the lock meanwhile.

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use bulklink_core::plumbing::Word;
use bulklink_core::{EventFilter, EventKind};

use crate::gate::shared::Shared;
use crate::runtime::{Clock, Instant, Timer};
use crate::testing::{FakeClock, FakeSleep};
use crate::{Builder, Bulkhead, OwnedSlot, Readiness, Reason, Rejection, Request};

type Front = Bulkhead<FakeClock>;
type Outcome = Result<(), Reason>;

/// A patience that only a failing test waits out.
const LONG: Duration = Duration::from_secs(10);

fn front(waiting_room: usize) -> Front {
    Bulkhead::builder_on(FakeClock::new(), "test").capacity(1).waiting_room(waiting_room).build().expect("valid")
}

/// Runs `work` on another thread while this thread holds the lock. Returns its result, or `None` if
/// it does not end within `patience`.
fn while_locked<T: Send + 'static>(
    front: &Front,
    patience: Duration,
    work: impl FnOnce(&Front) -> T + Send + 'static,
) -> Option<T> {
    let (send, answer) = mpsc::channel();
    let worker = front.clone();
    let (early, thread) = front.handle().shared.state.with(|_| {
        let thread = thread::spawn(move || drop(send.send(work(&worker))));
        (answer.recv_timeout(patience).ok(), thread)
    });
    thread.join().expect("no panic");
    early
}

fn outcome<T>(answer: Result<T, Rejection>) -> Outcome {
    answer.map(drop).map_err(|rejection| rejection.reason())
}

fn try_once(front: &Front) -> Outcome {
    outcome(front.try_slot())
}

fn poll_once(front: &Front) -> Outcome {
    match pin!(front.slot()).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => outcome(answer),
        Poll::Pending => panic!("the call waits"),
    }
}

#[test]
fn is_closed_and_closed_leave_the_word_in_place() {
    let front = front(1);
    let held = front.try_slot();
    drop((front.try_slot(), held));
    drop(front.try_slot());
    let counted = || front.handle().shared.fast.peek();
    assert_ne!(
        counted().to_bits(),
        front.handle().shared.with_gate(|state| state.gate.publish()).to_bits(),
        "it counts"
    );
    drop(front.try_slot());
    let before = counted();
    let mut closed = pin!(front.handle().closed());
    assert!(!front.is_closed() && closed.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    closed.set(front.handle().closed());
    assert_eq!(counted(), before, "nothing was folded");
}

#[test]
fn a_call_takes_no_lock_beside_a_handler_of_rejections_and_waits() {
    let front = front(1);
    drop(front.try_slot());
    let filter = EventFilter::REJECTIONS.or(EventFilter::WAITS).or(EventFilter::CHANGES);
    front.handle().add_event_handler(filter, |_| ());
    assert_eq!(while_locked(&front, LONG, try_once), Some(Ok(())));
    assert_eq!(while_locked(&front, LONG, poll_once), Some(Ok(())));
    front.handle().add_event_handler(EventFilter::of(EventKind::Released), |_| ());
    assert_eq!(while_locked(&front, Duration::from_millis(20), try_once), None, "it waits for the lock");
}

#[test]
fn a_watched_bulkhead_admits_and_rejects_without_the_lock() {
    let front = front(1);
    let readiness = Readiness::new(LONG).expect("valid");
    readiness.watch(&front);
    drop(front.try_slot());
    assert_eq!(while_locked(&front, LONG, try_once), Some(Ok(())));
    let running = front.try_slot().expect("free");
    assert_eq!(while_locked(&front, LONG, try_once), Some(Err(Reason::Saturated)));
    let mut waiting = std::boxed::Box::pin(front.slot());
    assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let asked = readiness.clone();
    assert_eq!(while_locked(&front, LONG, move |_| asked.is_ready()), Some(true));
    drop((waiting, running));
    front.close();
    assert_eq!(while_locked(&front, LONG, try_once), Some(Err(Reason::Closed)));
    let asked = readiness.clone();
    assert_eq!(while_locked(&front, LONG, move |_| asked.is_ready()), Some(false));
}

#[test]
fn a_bulkhead_that_is_no_longer_watched_has_no_handler() {
    let front = front(1);
    let has_handler = || !front.handle().shared.with_gate(|state| state.observers.handlers().is_empty());
    let readiness = Readiness::new(LONG).expect("valid");
    readiness.watch(&front);
    let clone = readiness.clone();
    drop(readiness);
    assert!(has_handler());
    drop(clone);
    assert!(!has_handler());
    let readiness = Readiness::new(LONG).expect("valid");
    readiness.watch(&front);
    assert!(has_handler() && readiness.unwatch(&front) && !has_handler());
}

#[test]
fn a_call_that_is_admitted_and_ends_takes_no_lock() {
    let front = front(1);
    drop(front.try_slot());
    assert_eq!(while_locked(&front, LONG, try_once), Some(Ok(())));
    assert_eq!(while_locked(&front, LONG, poll_once), Some(Ok(())));
    assert_eq!(front.status().totals.finished, 3);
}

#[test]
fn a_call_without_a_waiting_room_is_rejected_without_the_lock() {
    let front = front(0);
    let _running = front.try_slot().expect("free");
    assert_eq!(while_locked(&front, LONG, try_once), Some(Err(Reason::Saturated)));
    assert_eq!(while_locked(&front, LONG, poll_once), Some(Err(Reason::Saturated)));
    assert_eq!(front.status().totals.saturated, 2);
}

#[test]
fn a_call_that_finds_the_waiting_room_full_is_rejected_without_the_lock() {
    let front = front(1);
    let _running = front.try_slot().expect("free");
    assert_eq!(while_locked(&front, LONG, try_once), Some(Err(Reason::Saturated)));
    let mut waiting = pin!(front.slot());
    assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert_eq!(while_locked(&front, LONG, try_once), Some(Err(Reason::Saturated)));
    assert_eq!(while_locked(&front, LONG, poll_once), Some(Err(Reason::Saturated)));
    assert_eq!(front.status().totals.saturated, 3);
}

#[test]
fn a_call_after_close_is_rejected_without_the_lock() {
    let front = front(1);
    let _running = front.try_slot().expect("free");
    front.close();
    assert_eq!(while_locked(&front, LONG, try_once), Some(Err(Reason::Closed)));
    assert_eq!(while_locked(&front, LONG, poll_once), Some(Err(Reason::Closed)));
    assert_eq!(front.status().totals.closed_before_queue, 2);
}

#[test]
fn an_admission_takes_the_lock_while_there_is_a_subscriber_and_no_longer() {
    let front = front(1);
    drop(front.try_slot());
    let events = front.handle().subscribe(EventFilter::ALL, 100).expect("a capacity");
    assert_eq!(while_locked(&front, Duration::from_millis(10), try_once), None);
    drop(events);
    assert_eq!(while_locked(&front, LONG, try_once), Some(Ok(())));
}

/// Shows that these tests hold the lock.
#[test]
fn a_status_takes_the_lock() {
    assert!(while_locked(&front(0), Duration::from_millis(10), Bulkhead::status).is_none());
}

/// A clock that reports when it is read.
#[derive(Clone)]
struct Reporting(FakeClock, Sender<()>);

impl Clock for Reporting {
    type Instant = Instant;

    fn now(&self) -> Instant {
        self.1.send(()).ok();
        self.0.now()
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }
}

impl Timer for Reporting {
    type Sleep = FakeSleep;

    fn sleep_until(&self, deadline: Instant) -> FakeSleep {
        self.0.sleep_until(deadline)
    }
}

/// Counts the readings of the clock by a call that has to wait, and by the release of the slot that
/// it waits for: for each, the readings before it has the lock, and all of them.
fn readings(measured: bool, limit: Option<Duration>, request: Request<Instant>) -> [(usize, usize); 2] {
    let (send, reports) = mpsc::channel();
    let builder = Bulkhead::builder_on(Reporting(FakeClock::new(), send), "test").capacity(1).waiting_room(1);
    let builder = limit.into_iter().fold(builder.measure_waits(measured), Builder::wait_limit);
    let front = builder.build().expect("valid");
    let lock = &front.handle().shared.state;
    let running: OwnedSlot = front.owned().try_slot().expect("free");
    let mut waiting = std::boxed::Box::pin(front.with(request).slot());
    let (early, thread) = lock.with(|_| {
        let thread = thread::spawn(move || {
            assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            waiting
        });
        (usize::from(reports.recv_timeout(LONG).is_ok()), thread)
    });
    let _waiting = thread.join().expect("no panic");
    let came = (early, early + reports.try_iter().count());
    let (early, thread) = lock.with(|_| {
        let thread = thread::spawn(move || drop(running));
        (usize::from(reports.recv_timeout(LONG).is_ok()), thread)
    });
    thread.join().expect("no panic");
    [came, (early, early + reports.try_iter().count())]
}

#[test]
fn a_release_adds_to_a_held_word_once() {
    let (send, reports) = mpsc::channel();
    let builder = Bulkhead::builder_on(Reporting(FakeClock::new(), send), "test").capacity(1).waiting_room(1);
    let front = builder.build().expect("valid");
    drop(front.try_slot());
    let running = front.owned().try_slot().expect("a unit is offered by the word");
    let mut waiting = pin!(front.slot());
    assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert_eq!(reports.try_iter().count(), 1);
    let Shared { fast, state, .. } = &*front.handle().shared;
    let held = fast.peek();
    let (after, thread) = state.with(|_| {
        let thread = thread::spawn(move || drop(running));
        reports.recv_timeout(LONG).expect("the release reads the clock before it waits for the lock");
        (fast.peek(), thread)
    });
    thread.join().expect("no panic");
    assert_eq!(after.to_bits(), held.to_bits() + Word::RELEASE);
}

/// Otherwise they would take the lock twice.
#[test]
fn a_call_and_a_release_that_need_the_time_read_it_before_the_lock() {
    let some = Duration::from_millis(10);
    assert_eq!(readings(true, None, Request::new()), [(1, 1); 2]);
    assert_eq!(readings(false, Some(some), Request::new()), [(1, 1); 2]);
    assert_eq!(readings(false, None, Request::new().within(some)), [(1, 1); 2]);
    assert_eq!(readings(false, None, Request::new().before(FakeClock::new().now() + some)), [(1, 1); 2]);
}
