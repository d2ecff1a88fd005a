//! A handle completes only after its operation was dropped, even if the operation never began.

use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};

use bulklink::testing::Executor;
use bulklink::{JoinError, JoinHandle, Reason, Request};

use super::by_hand::{ByHand, Treatment};
use super::{Submitted, ended, is_cancelled, is_lost, on, outcome, settled, setup};
use crate::ms;

/// A waker that records whether the operation is dropped when it is woken.
#[derive(Default)]
struct DropRecorder {
    is_dropped: AtomicBool,
    at_wake: Mutex<Vec<bool>>,
}

impl Wake for DropRecorder {
    fn wake(self: Arc<Self>) {
        self.at_wake.lock().expect("no panic").push(self.is_dropped.load(SeqCst));
    }
}

/// What an operation owns.
struct Owned {
    recorder: Arc<DropRecorder>,
    panics: bool,
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.recorder.is_dropped.store(true, SeqCst);
        assert!(!self.panics, "an operation that panics when dropped, on purpose");
    }
}

/// A kind of operation: a future or a closure, with or without a panic in its drop.
#[derive(Clone, Copy, Debug)]
struct Kind {
    is_closure: bool,
    panics: bool,
}

fn kinds() -> impl Iterator<Item = Kind> {
    let both = [false, true];
    both.into_iter().flat_map(move |is_closure| both.map(|panics| Kind { is_closure, panics }))
}

/// The handle of an operation that never begins, and the observations of both.
struct Observed {
    handle: JoinHandle<()>,
    recorder: Arc<DropRecorder>,
}

impl Observed {
    fn submit(bulkhead: &Submitted, kind: Kind) -> Self {
        let recorder = Arc::new(DropRecorder::default());
        let owned = Owned { recorder: Arc::clone(&recorder), panics: kind.panics };
        let request = Request::new().within(ms(10));
        let submitted = if kind.is_closure {
            bulkhead.with(request).submit_blocking(move || never(owned))
        } else {
            bulkhead.with(request).submit(async move { never(owned) })
        };
        let mut handle = submitted.expect("there is room");
        let waker = Waker::from(Arc::clone(&recorder));
        assert!(Pin::new(&mut handle).poll(&mut Context::from_waker(&waker)).is_pending());
        Observed { handle, recorder }
    }

    fn is_dropped(&self) -> bool {
        self.recorder.is_dropped.load(SeqCst)
    }

    /// Runs the task, which drops the operation and then wakes the handle.
    fn completes(self, executor: &mut Executor) -> JoinError {
        assert!(!self.handle.is_finished() && !self.is_dropped(), "the task has not run");
        executor.run_until_idle();
        assert!(self.is_dropped());
        assert_eq!(
            *self.recorder.at_wake.lock().expect("no panic"),
            [true],
            "woken once, after the operation was dropped"
        );
        ended(self.handle).expect_err("it never began")
    }
}

fn never(_owned: Owned) {
    unreachable!("it never began");
}

#[test]
fn a_cancelled_queued_operation_is_dropped_before_its_handle_completes() {
    for (kind, is_polled) in kinds().flat_map(|kind| [(kind, false), (kind, true)]) {
        let (mut executor, bulkhead) = setup(1, 1);
        let running = bulkhead.try_slot().expect("free");
        let queued = Observed::submit(&bulkhead, kind);
        if is_polled {
            executor.run_until_idle();
        }
        assert!(queued.handle.cancel());
        assert_eq!(bulkhead.status().waiting, 0, "its place is free before the task runs");
        assert!(matches!(queued.completes(&mut executor), JoinError::Cancelled), "{kind:?}");
        drop(running);
        settled(&bulkhead);
    }
}

#[test]
fn a_cancelled_admitted_operation_is_dropped_before_its_handle_completes() {
    for kind in kinds() {
        let (mut executor, bulkhead) = setup(1, 0);
        let admitted = Observed::submit(&bulkhead, kind);
        assert!(admitted.handle.cancel());
        assert_eq!(bulkhead.status().in_flight, 0, "its slot is free before the task runs");
        assert!(matches!(admitted.completes(&mut executor), JoinError::Cancelled), "{kind:?}");
        assert_eq!((bulkhead.status().totals.abandoned, bulkhead.status().totals.finished), (1, 0));
        settled(&bulkhead);
    }
}

#[test]
fn an_expired_operation_is_dropped_before_its_handle_completes() {
    for kind in kinds() {
        let (mut executor, bulkhead) = setup(1, 1);
        let _running = bulkhead.try_slot().expect("free");
        let queued = Observed::submit(&bulkhead, kind);
        executor.run_until_idle();
        executor.clock().advance(ms(10));
        let JoinError::Rejected(rejection) = queued.completes(&mut executor) else { panic!("{kind:?}") };
        assert_eq!(rejection.reason(), Reason::Expired);
    }
}

#[test]
fn queued_operations_are_dropped_at_close_before_their_handles_complete() {
    for kind in kinds() {
        let (mut executor, bulkhead) = setup(1, 1);
        let _running = bulkhead.try_slot().expect("free");
        let queued = Observed::submit(&bulkhead, kind);
        executor.run_until_idle();
        bulkhead.close();
        let JoinError::Rejected(rejection) = queued.completes(&mut executor) else { panic!("{kind:?}") };
        assert_eq!(rejection.reason(), Reason::Closed);
    }
}

/// A waker that records how many slots are taken when it is woken.
struct SlotRecorder {
    bulkhead: Submitted,
    at_wake: Mutex<Vec<usize>>,
}

impl Wake for SlotRecorder {
    fn wake(self: Arc<Self>) {
        self.at_wake.lock().expect("no panic").push(self.bulkhead.status().in_flight);
    }
}

#[test]
fn a_slot_is_free_before_its_operations_handle_completes() {
    for is_closure in [false, true] {
        let (mut executor, bulkhead) = setup(1, 0);
        let submitted = if is_closure { bulkhead.submit_blocking(|| 5) } else { bulkhead.submit(async { 5 }) };
        let mut handle = submitted.expect("free");
        let recorder = Arc::new(SlotRecorder { bulkhead, at_wake: Mutex::default() });
        let waker = Waker::from(Arc::clone(&recorder));
        assert!(Pin::new(&mut handle).poll(&mut Context::from_waker(&waker)).is_pending());
        executor.run_until_idle();
        assert_eq!(*recorder.at_wake.lock().expect("no panic"), [0], "closure: {is_closure}");
        assert_eq!(ended(handle).expect("it ran"), 5);
    }
}

#[test]
fn a_dropped_tasks_slot_is_free_before_its_handle_completes() {
    for is_running in [false, true] {
        let (mut executor, bulkhead) = setup(1, 0);
        let mut handle = bulkhead.submit(pending::<()>()).expect("free");
        if is_running {
            executor.run_until_idle();
        }
        let recorder = Arc::new(SlotRecorder { bulkhead, at_wake: Mutex::default() });
        let waker = Waker::from(Arc::clone(&recorder));
        assert!(Pin::new(&mut handle).poll(&mut Context::from_waker(&waker)).is_pending());
        drop(executor);
        assert_eq!(*recorder.at_wake.lock().expect("no panic"), [0], "running: {is_running}");
        assert!(is_lost(handle));
    }
}

/// The pool has the closure already, and either runs or drops it.
#[test]
fn a_cancelled_closures_handle_completes_when_run_or_dropped() {
    for (is_run, panics) in [(true, false), (false, false), (true, true), (false, true)] {
        let runtime = ByHand::new(Treatment::Keep);
        let bulkhead = on(runtime.clone(), 1, 1);
        let recorder = Arc::new(DropRecorder::default());
        let owned = Owned { recorder: Arc::clone(&recorder), panics };
        let mut handle = bulkhead.submit_blocking(move || never(owned)).expect("free");
        assert!(handle.cancel());
        settled(&bulkhead);
        assert!(outcome(&mut handle).is_none() && !recorder.is_dropped.load(SeqCst));
        for work in runtime.works() {
            if is_run { work() } else { drop(work) }
        }
        assert!(recorder.is_dropped.load(SeqCst) && is_cancelled(handle));
    }
}

#[test]
fn dropping_a_pending_operation_lets_no_panic_escape() {
    for (kind, is_queued) in kinds().flat_map(|kind| [(kind, false), (kind, true)]) {
        let (executor, bulkhead) = setup(1, 1);
        let running = is_queued.then(|| bulkhead.try_slot().expect("free"));
        let observed = Observed::submit(&bulkhead, kind);
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(executor)));
        assert!(dropped.is_ok(), "the panic escaped from {kind:?}, queued: {is_queued}");
        assert!(observed.is_dropped());
        assert_eq!(*observed.recorder.at_wake.lock().expect("no panic"), [true]);
        assert!(is_lost(observed.handle));
        drop(running);
        settled(&bulkhead);
    }
}

#[test]
fn dropping_a_running_operation_lets_no_panic_escape() {
    let (mut executor, bulkhead) = setup(1, 0);
    let recorder = Arc::new(DropRecorder::default());
    let owned = Owned { recorder: Arc::clone(&recorder), panics: true };
    let running = bulkhead.submit(async move {
        let _owned = owned;
        pending::<()>().await;
    });
    executor.run_until_idle();
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(executor)));
    assert!(dropped.is_ok() && recorder.is_dropped.load(SeqCst));
    assert!(is_lost(running.expect("free")));
    settled(&bulkhead);
}

/// The clock is read as the slot is freed, because another operation waits for it.
#[test]
fn dropping_a_running_task_contains_a_panic_of_the_clock() {
    let runtime = ByHand::new(Treatment::Keep);
    let bulkhead = on(runtime.clone(), 1, 1);
    let running = bulkhead.submit(pending::<()>()).expect("free");
    runtime.poll_tasks(Waker::noop());
    let task = runtime.pop().expect("it runs");
    let _waiting = bulkhead.submit(pending::<()>()).expect("there is room");
    runtime.panic_on_time(true);
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(task)));
    runtime.panic_on_time(false);
    assert!(dropped.is_ok() && is_lost(running));
}
