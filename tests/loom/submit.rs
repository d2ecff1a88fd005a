//! A submitted operation is run, cancelled and dropped at the same time: its slot is released, and
//! its handle gets one outcome.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::future::{Future, Pending, pending};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use bulklink::runtime::{Clock, Instant, Spawn, SpawnBlocking, SpawnError, Timer};
use bulklink::{Bulkhead, JoinError, JoinHandle};
use loom::thread;

use crate::call::{CountingWaker, Task};
use crate::model::{check_identities, in_every_order};

type Boxed = Pin<Box<dyn Future<Output = ()> + Send>>;
type Work = Box<dyn FnOnce() + Send>;

/// A runtime with a stopped clock, which keeps its tasks until the test runs them.
#[derive(Clone, Default)]
struct ManualRuntime {
    tasks: Arc<Mutex<Vec<Boxed>>>,
    works: Arc<Mutex<Vec<Work>>>,
    /// Closures are refused, and dropped when the test takes them.
    refuses_works: bool,
}

impl Clock for ManualRuntime {
    type Instant = Instant;

    fn now(&self) -> Instant {
        Instant::EPOCH
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }
}

impl Timer for ManualRuntime {
    type Sleep = Pending<()>;

    fn sleep_until(&self, _deadline: Instant) -> Pending<()> {
        pending()
    }
}

impl Spawn for ManualRuntime {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Result<(), SpawnError> {
        self.tasks.lock().unwrap().push(Box::pin(task));
        Ok(())
    }
}

impl SpawnBlocking for ManualRuntime {
    fn spawn_blocking(&self, work: impl FnOnce() + Send + 'static) -> Result<(), SpawnError> {
        self.works.lock().unwrap().push(Box::new(work));
        if self.refuses_works { Err(SpawnError::new("on purpose")) } else { Ok(()) }
    }
}

impl ManualRuntime {
    fn bulkhead(&self) -> TestBulkhead {
        Bulkhead::builder_on(self.clone(), "loom").parallelism(1).waiting_room(1).build().unwrap()
    }

    /// Returns the only task.
    fn task(&self) -> Task<Boxed> {
        let mut tasks = std::mem::take(&mut *self.tasks.lock().unwrap());
        assert_eq!(tasks.len(), 1, "exactly one task is spawned");
        Task::new(tasks.remove(0))
    }

    fn work(&self) -> Option<Work> {
        self.works.lock().unwrap().pop()
    }
}

type TestBulkhead = Bulkhead<ManualRuntime>;

/// Returns an operation that records its first poll, and runs until it is cancelled.
fn note_polls(is_polled: &Arc<AtomicBool>) -> impl Future<Output = u8> + use<> {
    let is_polled = Arc::clone(is_polled);
    async move {
        is_polled.store(true, Relaxed);
        pending().await
    }
}

/// A value that records its drop.
struct Owned(Arc<AtomicBool>);

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Returns the outcome of a handle that has completed.
fn outcome_of(bulkhead: &TestBulkhead, handle: &mut JoinHandle<u8>) -> &'static str {
    let Poll::Ready(outcome) = CountingWaker::default().poll(handle) else { panic!("the handle has not completed") };
    check_identities(&bulkhead.status());
    match outcome {
        Ok(_) => "ran",
        Err(JoinError::Cancelled) => "cancelled",
        Err(JoinError::Lost) => "lost",
        Err(other) => panic!("{other}"),
    }
}

/// Checks what holds when all operations have ended.
fn check_settled(bulkhead: &TestBulkhead) {
    let status = bulkhead.status();
    check_identities(&status);
    assert_eq!((status.in_flight, status.waiting), (0, 0), "an operation or a waiter is left");
    let slot = bulkhead.try_slot();
    assert!(slot.is_ok() && bulkhead.try_slot().is_err(), "a slot was lost, or there is one too many");
}

/// Runs a scene in every order, and returns all its outcomes.
fn explore<O: Ord + Debug + Send + 'static>(
    scene: impl Fn(ManualRuntime, &TestBulkhead) -> O + Send + Sync + 'static,
) -> BTreeSet<O> {
    in_every_order(None, move || {
        let runtime = ManualRuntime::default();
        let bulkhead = runtime.bulkhead();
        let outcome = scene(runtime, &bulkhead);
        check_settled(&bulkhead);
        outcome
    })
}

#[test]
fn a_handle_polled_as_its_operation_ends_misses_nothing() {
    let wakes = explore(|runtime, bulkhead| {
        let mut handle = bulkhead.submit(async { 1 }).unwrap();
        let mut task = runtime.task();
        let polled = thread::spawn(move || task.poll());
        let waker = CountingWaker::default();
        let polled_early = waker.poll(&mut handle);
        if polled_early.is_ready() {
            assert_eq!(bulkhead.status().in_flight, 0, "the handle completed before its slot was free");
        }
        polled.join().unwrap();
        if polled_early.is_pending() {
            assert_eq!((waker.wakes(), outcome_of(bulkhead, &mut handle)), (1, "ran"));
        }
        waker.wakes()
    });
    assert_eq!(wakes, [0, 1].into());
}

#[test]
fn an_outcome_wakes_the_latest_waker_or_completes_its_poll() {
    let announced = explore(|runtime, bulkhead| {
        let mut handle = bulkhead.submit(async { 1 }).unwrap();
        let (former, latest, mut task) = (CountingWaker::default(), CountingWaker::default(), runtime.task());
        assert!(former.poll(&mut handle).is_pending());
        let polled = thread::spawn(move || task.poll());
        let found = latest.poll(&mut handle).is_ready();
        polled.join().unwrap();
        assert_eq!((former.wakes(), latest.wakes()), if found { (1, 0) } else { (0, 1) });
        assert!(found || latest.poll(&mut handle).is_ready());
        !found
    });
    assert_eq!(announced, [false, true].into());
}

#[test]
fn a_cancel_wakes_the_latest_waker_or_completes_its_poll() {
    let announced = explore(|runtime, bulkhead| {
        let handle = bulkhead.submit(pending::<u8>()).unwrap();
        let (former, latest, mut task) =
            (CountingWaker::default(), CountingWaker::default(), runtime.task().future.unwrap());
        assert!(former.poll(&mut task).is_pending());
        let cancelled = thread::spawn(move || handle.cancel());
        let found = latest.poll(&mut task).is_ready();
        assert!(!cancelled.join().unwrap(), "the operation has begun");
        assert_eq!((former.wakes(), latest.wakes()), if found { (1, 0) } else { (0, 1) });
        assert!(found || latest.poll(&mut task).is_ready());
        !found
    });
    assert_eq!(announced, [false, true].into());
}

#[test]
fn an_operation_that_begins_is_cancelled_or_runs_not_both() {
    let outcomes = explore(|runtime, bulkhead| {
        let mut handle = bulkhead.submit(async { 1 }).unwrap();
        let mut task = runtime.task();
        let polled = thread::spawn(move || {
            task.poll();
            task
        });
        let unbegun = handle.cancel();
        if unbegun {
            assert_eq!((bulkhead.status().in_flight, bulkhead.status().totals.abandoned), (0, 1));
        }
        assert!(polled.join().unwrap().future.is_none());
        (unbegun, outcome_of(bulkhead, &mut handle))
    });
    assert_eq!(outcomes, [(true, "cancelled"), (false, "ran")].into());
}

/// The result of the cancel, whether the operation was polled, and the totals agree.
#[test]
fn a_cancel_before_the_first_poll_agrees_with_the_totals() {
    let outcomes = explore(|runtime, bulkhead| {
        let is_polled = Arc::new(AtomicBool::new(false));
        let mut handle = bulkhead.submit(note_polls(&is_polled)).unwrap();
        let mut task = runtime.task();
        let polled = thread::spawn(move || {
            task.poll();
            task
        });
        let unbegun = handle.cancel();
        assert!(polled.join().unwrap().settle(), "the cancel did not wake the task");
        assert_eq!(outcome_of(bulkhead, &mut handle), "cancelled");
        let totals = bulkhead.status().totals;
        (unbegun, is_polled.load(Relaxed), totals.abandoned, totals.finished)
    });
    assert_eq!(outcomes, [(true, false, 1, 0), (false, true, 0, 1)].into());
}

#[test]
fn a_cancel_during_a_poll_ends_the_operation() {
    let outcomes = explore(|runtime, bulkhead| {
        let mut handle = bulkhead.submit(pending::<u8>()).unwrap();
        let mut task = runtime.task();
        task.poll();
        let polled = thread::spawn(move || {
            task.poll();
            task
        });
        assert!(!handle.cancel());
        assert!(polled.join().unwrap().settle(), "the cancel did not wake the task");
        outcome_of(bulkhead, &mut handle)
    });
    assert_eq!(outcomes, ["cancelled"].into());
}

/// The operation is granted its slot, polled and cancelled at the same time.
#[test]
fn a_cancel_during_the_grant_agrees_with_the_outcome() {
    let outcomes = explore(|runtime, bulkhead| {
        let running = bulkhead.owned().try_slot().unwrap();
        let mut handle = bulkhead.submit(async { 1 }).unwrap();
        let mut task = runtime.task();
        let polled = thread::spawn(move || {
            task.poll();
            task
        });
        let released = thread::spawn(move || drop(running));
        let unbegun = handle.cancel();
        let mut task = polled.join().unwrap();
        released.join().unwrap();
        assert!(task.settle());
        (unbegun, outcome_of(bulkhead, &mut handle))
    });
    assert_eq!(outcomes, [(true, "cancelled"), (false, "ran")].into());
}

/// The operation is cancelled in the queue or with a slot, while its task is polled or dropped.
#[test]
fn a_handle_completes_only_after_its_operation_was_dropped() {
    for (is_queued, is_run) in [(false, false), (false, true), (true, false), (true, true)] {
        let gone_when_ready = explore(move |runtime, bulkhead| {
            let running = is_queued.then(|| bulkhead.owned().try_slot().unwrap());
            let is_gone = Arc::new(AtomicBool::new(false));
            let owned = Owned(Arc::clone(&is_gone));
            let mut handle = bulkhead.submit(async move { drop(owned) }).unwrap();
            let mut task = runtime.task();
            assert!(handle.cancel());
            let ended = thread::spawn(move || if is_run { task.poll() } else { drop(task) });
            let waker = CountingWaker::default();
            let polled_early = waker.poll(&mut handle);
            let early = polled_early.is_ready().then(|| is_gone.load(Relaxed));
            ended.join().unwrap();
            assert!(is_gone.load(Relaxed));
            if early.is_none() {
                assert!(waker.wakes() == 1 && waker.poll(&mut handle).is_ready());
            }
            drop(running);
            early
        });
        assert_eq!(gone_when_ready, [None, Some(true)].into());
    }
}

#[test]
fn a_slot_granted_before_the_first_poll_is_not_missed() {
    explore(|runtime, bulkhead| {
        let running = bulkhead.owned().try_slot().unwrap();
        let mut handle = bulkhead.submit(async { 1 }).unwrap();
        let mut task = runtime.task();
        let polled = thread::spawn(move || {
            task.poll();
            task
        });
        drop(running);
        assert!(polled.join().unwrap().settle(), "the task missed the slot");
        assert_eq!(outcome_of(bulkhead, &mut handle), "ran");
    });
}

#[test]
fn a_task_dropped_during_a_cancel_is_cancelled_or_lost() {
    for queued in [false, true] {
        let outcomes = explore(move |runtime, bulkhead| {
            let running = queued.then(|| bulkhead.owned().try_slot().unwrap());
            let mut handle = bulkhead.submit(async { 1 }).unwrap();
            let task = runtime.task();
            let dropped = thread::spawn(move || drop(task));
            let unbegun = handle.cancel();
            dropped.join().unwrap();
            drop(running);
            (unbegun, outcome_of(bulkhead, &mut handle))
        });
        assert_eq!(outcomes, [(true, "cancelled"), (false, "lost")].into());
    }
}

#[test]
fn an_operation_finishes_although_its_handle_is_dropped() {
    explore(|runtime, bulkhead| {
        let handle = bulkhead.submit(async { 1 }).unwrap();
        let mut task = runtime.task();
        let polled = thread::spawn(move || {
            task.poll();
            task
        });
        drop(handle);
        assert!(polled.join().unwrap().settle());
        assert_eq!(bulkhead.status().totals.finished, 1);
    });
}

/// A task that keeps its own waker would never be dropped.
#[test]
fn a_dropped_handle_keeps_no_waker_of_its_task() {
    explore(|runtime, bulkhead| {
        let handle = bulkhead.submit(pending::<u8>()).unwrap();
        let mut task = runtime.task();
        let polled = thread::spawn(move || {
            task.poll();
            task
        });
        drop(handle);
        assert!(!polled.join().unwrap().waker.is_kept());
    });
}

#[test]
fn a_closure_that_starts_runs_or_is_cancelled_not_both() {
    let outcomes = explore(|runtime, bulkhead| {
        let mut handle = bulkhead.submit_blocking(|| 1).unwrap();
        let work = runtime.work().unwrap();
        let ran = thread::spawn(work);
        let unbegun = handle.cancel();
        ran.join().unwrap();
        (unbegun, outcome_of(bulkhead, &mut handle))
    });
    assert_eq!(outcomes, [(true, "cancelled"), (false, "ran")].into());
}

#[test]
fn a_queued_closure_cancelled_during_the_grant_never_runs() {
    let outcomes = explore(|runtime, bulkhead| {
        let running = bulkhead.owned().try_slot().unwrap();
        let mut handle = bulkhead.submit_blocking(|| 1).unwrap();
        let mut task = runtime.task();
        task.poll();
        let polled = thread::spawn(move || {
            drop(running);
            task.settle();
            task
        });
        assert!(handle.cancel());
        assert!(polled.join().unwrap().settle());
        let reached_the_pool = runtime.work().map(|work| work()).is_some();
        (reached_the_pool, outcome_of(bulkhead, &mut handle))
    });
    assert_eq!(outcomes, [(false, "cancelled"), (true, "cancelled")].into());
}

/// The pool drops the closure on a thread of its own, while its refusal is handled.
#[test]
fn a_closure_dropped_as_its_pool_refuses_it_ends_once() {
    let outcomes = explore(|_, _| {
        let refusing = ManualRuntime { refuses_works: true, ..ManualRuntime::default() };
        let bulkhead = refusing.bulkhead();
        let running = bulkhead.owned().try_slot().unwrap();
        let mut handle = bulkhead.submit_blocking(|| 1).unwrap();
        let mut task = refusing.task();
        drop(running);
        let refused = thread::spawn(move || task.poll());
        // A lock, so that loom may run the other thread first.
        _ = bulkhead.status();
        let dropped = refusing.work().map(drop).is_some();
        if handle.is_finished() {
            assert_eq!(bulkhead.status().in_flight, 0, "the slot is free when the handle completes");
        }
        refused.join().unwrap();
        drop(refusing.work());
        check_settled(&bulkhead);
        (dropped, outcome_of(&bulkhead, &mut handle))
    });
    assert_eq!(outcomes, [(false, "lost"), (true, "lost")].into());
}
