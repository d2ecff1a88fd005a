//! Submitted closures: they run on blocking threads, and keep their slot until they end.

use std::sync::mpsc;
use std::task::Waker;
use std::thread;

use bulklink::{JoinError, Reason, Request, SubmitError};

use super::by_hand::{ByHand, Treatment};
use super::{ended, is_cancelled, is_lost, on, settled};

#[test]
fn a_running_closure_keeps_its_slot_after_a_cancel() {
    for cancelled in [false, true] {
        let runtime = ByHand::new(Treatment::Keep);
        let bulkhead = on(runtime.clone(), 1, 1);
        let ((begun, has_begun), (end, may_end)) = (mpsc::channel(), mpsc::channel::<()>());
        let handle = bulkhead.submit_blocking(move || {
            begun.send(()).expect("the test waits");
            may_end.recv().expect("the test lets it end");
        });
        let handle = handle.expect("free");
        let threads: Vec<_> = runtime.works().into_iter().map(thread::spawn).collect();
        has_begun.recv().expect("the closure begins");
        let kept = if cancelled {
            assert!(!handle.cancel(), "a thread cannot be stopped");
            Some(handle)
        } else {
            drop(handle);
            None
        };
        let next = bulkhead.submit(async { 5 }).expect("there is room to wait");
        runtime.poll_tasks(Waker::noop());
        assert_eq!((bulkhead.status().in_flight, next.is_finished()), (1, false));
        end.send(()).expect("the closure waits");
        for thread in threads {
            thread.join().expect("no panic");
        }
        runtime.poll_tasks(Waker::noop());
        assert_eq!(ended(next).expect("its turn"), 5);
        assert!(kept.is_none_or(|handle| ended(handle).is_ok()), "the closure has ended");
        settled(&bulkhead);
    }
}

/// The pool has the closure already, and no thread for it yet.
#[test]
fn a_closure_cancelled_before_a_thread_starts_it_never_runs() {
    let runtime = ByHand::new(Treatment::Keep);
    let bulkhead = on(runtime.clone(), 1, 1);
    let first = bulkhead.submit_blocking(|| unreachable!("it never began")).expect("free");
    let second = bulkhead.submit_blocking(|| unreachable!("it never began")).expect("there is room");
    assert!(first.cancel());
    assert_eq!(
        (bulkhead.status().totals.abandoned, bulkhead.status().in_flight),
        (1, 1),
        "the next operation has its slot"
    );
    runtime.poll_tasks(Waker::noop());
    assert!(second.cancel());
    settled(&bulkhead);
    runtime.works().into_iter().for_each(|work| work());
    assert!(is_cancelled::<()>(first) && is_cancelled::<()>(second));
    settled(&bulkhead);
}

#[test]
fn a_pool_that_is_dropped_loses_no_slot() {
    let runtime = ByHand::new(Treatment::Keep);
    let bulkhead = on(runtime.clone(), 1, 1);
    let first = bulkhead.submit_blocking(|| ()).expect("free");
    let second = bulkhead.submit_blocking(|| ()).expect("there is room");
    drop(runtime.works());
    assert_eq!(bulkhead.status().totals.abandoned, 1);
    runtime.poll_tasks(Waker::noop());
    drop(runtime.works());
    assert!(is_lost(first) && is_lost(second));
    assert_eq!(bulkhead.status().totals.abandoned, 2);
    settled(&bulkhead);
}

/// The pool refuses the closure only when it is admitted.
#[test]
fn a_pool_that_refuses_a_queued_closure_ends_its_handle() {
    for treatment in [Treatment::DropSilently, Treatment::Refuse, Treatment::Panic, Treatment::KeepAndPanic] {
        let runtime = ByHand::new(Treatment::Keep).for_works(treatment);
        let bulkhead = on(runtime.clone(), 1, 1);
        let running = bulkhead.try_slot().expect("free");
        let queued = bulkhead.submit_blocking(|| unreachable!("it never began")).expect("there is room");
        runtime.poll_tasks(Waker::noop());
        drop(running);
        runtime.poll_tasks(Waker::noop());
        let Err(JoinError::Lost) = ended::<()>(queued) else { panic!("{treatment:?}") };
        assert_eq!(bulkhead.status().totals.abandoned, 1, "{treatment:?}");
        runtime.works().into_iter().for_each(|work| work());
        settled(&bulkhead);
    }
}

#[test]
fn a_closure_that_may_not_wait_needs_no_task() {
    let runtime = ByHand::new(Treatment::Refuse).for_works(Treatment::Keep);
    let bulkhead = on(runtime.clone(), 1, 1);
    let first = bulkhead.with(Request::new().now()).submit_blocking(|| 5).expect("free");
    let Err(SubmitError::Rejected(rejection)) = bulkhead.with(Request::new().now()).submit_blocking(|| 6) else {
        panic!("the bulkhead is full")
    };
    assert_eq!(rejection.reason(), Reason::Saturated);
    assert!(bulkhead.submit_blocking(|| 7).is_err(), "no call waits");
    runtime.works().into_iter().for_each(|work| work());
    assert_eq!(ended(first).expect("the closure ran"), 5);
    settled(&bulkhead);
}
