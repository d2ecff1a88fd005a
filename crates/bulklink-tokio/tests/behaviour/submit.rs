//! Operations submitted to runtimes of tokio that are absent, have ended, or end meanwhile. What
//! holds on every runtime is tested in `tests/runtimes`.

use std::future::pending;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use bulklink_tokio::{Bulkhead, JoinError, JoinHandle, Reason, SubmitError};
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;

const LIMIT: Duration = Duration::from_millis(20);

fn bulkhead(parallelism: usize, waiting_room: usize) -> Bulkhead {
    Bulkhead::builder("submitted").parallelism(parallelism).waiting_room(waiting_room).build().expect("valid")
}

fn one_thread() -> Runtime {
    Builder::new_current_thread().enable_all().max_blocking_threads(1).build().expect("a runtime")
}

fn many_threads() -> Runtime {
    Builder::new_multi_thread().enable_all().worker_threads(4).build().expect("a runtime")
}

fn settled(bulkhead: &Bulkhead) {
    let (status, totals) = (bulkhead.status(), bulkhead.status().totals);
    assert_eq!((status.in_flight, status.waiting), (0, 0));
    assert_eq!(totals.admitted, totals.finished + totals.abandoned);
    assert_eq!(totals.queued, totals.settled_waiting());
}

fn is_lost<T>(handle: JoinHandle<T>) -> bool {
    matches!(handle.join(), Err(JoinError::Lost))
}

/// No operation has run yet when the last one is submitted.
#[tokio::test]
async fn operations_run_in_order_and_one_too_many_is_rejected() {
    let bulkhead = bulkhead(1, 3);
    let log = Arc::new(Mutex::new(vec![]));
    let handles: Vec<_> = (0..4)
        .map(|number| {
            let log = Arc::clone(&log);
            bulkhead.submit(async move { log.lock().expect("no panic").push(number) }).expect("there is room")
        })
        .collect();
    let Err(SubmitError::Rejected(rejection)) = bulkhead.submit(async {}) else { panic!("the bulkhead is full") };
    assert_eq!(rejection.reason(), Reason::Saturated);
    for handle in handles {
        handle.await.expect("it ran");
    }
    assert_eq!(*log.lock().expect("no panic"), [0, 1, 2, 3]);
    settled(&bulkhead);
}

#[tokio::test(start_paused = true)]
async fn a_rejection_by_a_limit_comes_through_the_handle() {
    let bulkhead = bulkhead(1, 3);
    let running = bulkhead.submit(pending::<()>()).expect("free");
    let task = bulkhead.within(LIMIT).submit(async {}).expect("there is room");
    let closure = bulkhead.within(2 * LIMIT).submit_blocking(|| ()).expect("there is room");
    for (handle, limit) in [(task, LIMIT), (closure, 2 * LIMIT)] {
        let Err(JoinError::Rejected(rejection)) = handle.await else { panic!("there was no slot") };
        assert_eq!((rejection.reason(), rejection.waited()), (Reason::Expired, limit));
    }
    assert!(!running.cancel());
    assert!(matches!(running.await, Err(JoinError::Cancelled)));
    settled(&bulkhead);
}

#[test]
fn outside_a_runtime_submit_is_refused() {
    let bulkhead = bulkhead(1, 3);
    for _ in 0..2 {
        let Err(SubmitError::Refused(error)) = bulkhead.submit(async {}) else {
            panic!("no runtime runs the operation")
        };
        assert!(error.to_string().ends_with("there is no tokio runtime on this thread"), "{error}");
        assert!(bulkhead.submit_blocking(|| ()).is_err());
        std::mem::forget(bulkhead.try_slot());
    }
    let totals = bulkhead.status().totals;
    assert_eq!((totals.abandoned, totals.cancelled, bulkhead.status().in_flight), (2, 2, 1));
}

#[test]
fn without_a_timer_submit_with_a_limit_is_refused() {
    let without_timer = Builder::new_current_thread().build().expect("a runtime");
    let inside = without_timer.handle().clone();
    for (entered, why) in [(None, "no tokio runtime on this thread"), (Some(&inside), "without `enable_time`")] {
        let _entered = entered.map(tokio::runtime::Handle::enter);
        let bulkhead = bulkhead(1, 3);
        for is_taken in [false, true] {
            let running = is_taken.then(|| bulkhead.try_slot().expect("free"));
            let refused = bulkhead.within(LIMIT).submit(async {});
            let Err(SubmitError::NoTimer(error)) = refused else { panic!("there is no timer: {refused:?}") };
            assert!(error.to_string().contains(why), "{error}");
            drop(running);
        }
        let status = bulkhead.status();
        assert_eq!((status.waiting, status.in_flight, status.totals.admitted, status.totals.queued), (0, 0, 1, 0));
        // A call that does not wait needs no timer.
        let running = bulkhead.try_slot().expect("free");
        let past = bulkhead.within(Duration::ZERO).submit(async {});
        assert!(matches!(past, Err(SubmitError::Rejected(no)) if no.reason() == Reason::Expired));
        bulkhead.close();
        let closed = bulkhead.within(LIMIT).submit(async {});
        assert!(matches!(closed, Err(SubmitError::Rejected(no)) if no.reason() == Reason::Closed));
        drop(running);
    }
}

/// The handle of a runtime that has ended can still be entered. A task that is spawned there is
/// dropped immediately.
#[test]
fn an_operation_submitted_to_an_ended_runtime_is_lost() {
    for runtime in [one_thread(), many_threads()] {
        let bulkhead = bulkhead(1, 3);
        let handle = runtime.handle().clone();
        drop(runtime);
        let _here = handle.enter();
        assert!(is_lost(bulkhead.submit(async {}).expect("tokio reports no error")));
        assert!(is_lost(bulkhead.submit_blocking(|| ()).expect("tokio reports no error")));
        let running = bulkhead.try_slot().expect("free");
        assert!(is_lost(bulkhead.submit(async {}).expect("tokio reports no error")));
        assert!(is_lost(bulkhead.submit_blocking(|| ()).expect("tokio reports no error")));
        assert_eq!((bulkhead.status().totals.abandoned, bulkhead.status().totals.cancelled), (2, 2));
        drop(running);
        settled(&bulkhead);
    }
}

#[test]
fn an_ending_runtime_loses_no_slot_and_ends_all_handles() {
    for runtime in [one_thread(), many_threads()] {
        let bulkhead = bulkhead(1, 3);
        let handles = runtime.block_on(async {
            let running = bulkhead.submit(pending::<()>()).expect("free");
            let queued = bulkhead.submit(pending::<()>()).expect("there is room");
            let closure = bulkhead.submit_blocking(|| ()).expect("there is room");
            yield_now().await;
            [running, queued, closure]
        });
        drop(runtime);
        assert!(handles.into_iter().all(is_lost));
        settled(&bulkhead);
    }
}

/// The pool's only thread is busy when the runtime ends. The closure that runs there goes on and
/// keeps its slot. The one that waits for the thread may run afterwards or never, which tokio
/// leaves open. In both cases its handle completes and its slot comes back.
#[test]
fn a_closure_that_outlives_its_runtime_keeps_its_slot() {
    let bulkhead = bulkhead(2, 0);
    let runtime = one_thread();
    let here = runtime.enter();
    let ((begun, has_begun), (end, may_end)) = (mpsc::channel(), mpsc::channel::<()>());
    let running = bulkhead.submit_blocking(move || {
        begun.send(()).expect("the test waits");
        may_end.recv().expect("the test lets it end");
        5
    });
    let running = running.expect("free");
    has_begun.recv().expect("the closure begins");
    let waiting = bulkhead.submit_blocking(|| ()).expect("free");
    assert!(!running.cancel(), "a thread cannot be stopped");
    drop(here);
    runtime.shutdown_background();
    assert_eq!(bulkhead.status().in_flight, 2, "one runs, and one waits for the thread");
    end.send(()).expect("the closure waits");
    assert_eq!(running.join().expect("the closure ended"), 5);
    let ran = match waiting.join() {
        Ok(()) => 1,
        Err(JoinError::Lost) => 0,
        Err(other) => panic!("{other}"),
    };
    assert_eq!((bulkhead.status().totals.finished, bulkhead.status().totals.abandoned), (1 + ran, 1 - ran));
    settled(&bulkhead);
}
