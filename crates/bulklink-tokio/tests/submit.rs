//! Operations handed over to real runtimes, which run them, are busy, and end.

use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use bulklink_tokio::{Bulkhead, JoinError, JoinHandle, Reason, Request, SubmitError};
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

/// Waits for what another thread does.
fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        thread::yield_now();
    }
}

async fn bursts() {
    let bulkhead = bulkhead(3, 5);
    for round in 0..300 {
        let burst: Vec<_> = (0..8)
            .map(|number| match (round + number) % 2 {
                0 => bulkhead.submit(yield_now()).expect("it fits"),
                _ => bulkhead.submit_blocking(|| ()).expect("it fits"),
            })
            .collect();
        for handle in burst {
            handle.await.expect("it ran");
        }
    }
    assert_eq!(bulkhead.status().totals.finished, 2400);
    settled(&bulkhead);
}

#[test]
fn a_burst_of_exactly_what_fits_is_never_turned_away() {
    one_thread().block_on(bursts());
    let runtime = many_threads();
    runtime.block_on(async { tokio::spawn(bursts()).await.expect("no panic") });
}

/// Nothing has run yet when the last one comes.
#[tokio::test]
async fn one_more_is_turned_away_at_once_and_the_others_run_in_order() {
    let bulkhead = bulkhead(1, 3);
    let log = Arc::new(Mutex::new(vec![]));
    let handles: Vec<_> = (0..4)
        .map(|number| {
            let log = Arc::clone(&log);
            bulkhead.submit(async move { log.lock().expect("no panic").push(number) }).expect("it fits")
        })
        .collect();
    let Err(SubmitError::Rejected(rejection)) = bulkhead.submit(async {}) else { panic!("it is full") };
    assert_eq!(rejection.reason(), Reason::Saturated);
    for handle in handles {
        handle.await.expect("it ran");
    }
    assert_eq!(*log.lock().expect("no panic"), [0, 1, 2, 3]);
    settled(&bulkhead);
}

#[tokio::test(start_paused = true)]
async fn a_limit_ends_through_the_handle() {
    let bulkhead = bulkhead(1, 3);
    let running = bulkhead.submit(pending::<()>()).expect("free");
    let task = bulkhead.submit_with(Request::new().within(LIMIT), async {}).expect("there is room");
    let closure = bulkhead.submit_blocking_with(Request::new().within(2 * LIMIT), || ()).expect("there is room");
    for (handle, limit) in [(task, LIMIT), (closure, 2 * LIMIT)] {
        let Err(JoinError::Rejected(rejection)) = handle.await else { panic!("there was no slot") };
        assert_eq!((rejection.reason(), rejection.waited()), (Reason::Expired, limit));
    }
    assert!(!running.cancel());
    assert!(matches!(running.await, Err(JoinError::Cancelled)));
    settled(&bulkhead);
}

#[test]
fn outside_of_a_runtime_it_is_refused() {
    let bulkhead = bulkhead(1, 3);
    for _ in 0..2 {
        let Err(SubmitError::Refused(error)) = bulkhead.submit(async {}) else { panic!("nobody runs it") };
        assert!(error.to_string().ends_with("there is no tokio runtime on this thread"), "{error}");
        assert!(bulkhead.submit_blocking(|| ()).is_err());
        std::mem::forget(bulkhead.try_slot());
    }
    let totals = bulkhead.status().totals;
    assert_eq!((totals.abandoned, totals.cancelled, bulkhead.status().in_flight), (2, 2, 1));
}

/// With a limit too, for which tokio has no timer there.
#[test]
fn outside_of_a_runtime_a_limit_does_not_panic() {
    let bulkhead = bulkhead(1, 3);
    let _running = bulkhead.try_slot().expect("free");
    let refused = bulkhead.submit_with(Request::new().within(LIMIT), async {});
    assert!(matches!(refused, Err(SubmitError::Refused(_))));
    assert_eq!(bulkhead.status().waiting, 0);
}

/// A handle of a runtime that is gone can still be entered; what is spawned there is dropped at once.
#[test]
fn on_a_runtime_that_has_ended_it_is_lost() {
    for runtime in [one_thread(), many_threads()] {
        let bulkhead = bulkhead(1, 3);
        let handle = runtime.handle().clone();
        drop(runtime);
        let _here = handle.enter();
        assert!(is_lost(bulkhead.submit(async {}).expect("tokio says nothing")));
        assert!(is_lost(bulkhead.submit_blocking(|| ()).expect("tokio says nothing")));
        let running = bulkhead.try_slot().expect("free");
        assert!(is_lost(bulkhead.submit(async {}).expect("tokio says nothing")));
        assert!(is_lost(bulkhead.submit_blocking(|| ()).expect("tokio says nothing")));
        assert_eq!((bulkhead.status().totals.abandoned, bulkhead.status().totals.cancelled), (2, 2));
        drop(running);
        settled(&bulkhead);
    }
}

#[test]
fn a_runtime_that_ends_takes_nothing_along() {
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

/// The pool's only thread is busy when the runtime ends: what runs there goes on and keeps its slot. What waits for the thread
/// runs after it or never does, as tokio likes, and either way its handle ends and its slot comes back.
#[test]
fn a_closure_outlives_its_handle_and_its_runtime_and_keeps_its_slot() {
    let bulkhead = bulkhead(2, 0);
    let runtime = one_thread();
    let here = runtime.enter();
    let ((begun, has_begun), (end, may_end)) = (mpsc::channel(), mpsc::channel::<()>());
    let running = bulkhead.submit_blocking(move || {
        begun.send(()).expect("the test waits");
        may_end.recv().expect("the test says so");
        5
    });
    let running = running.expect("free");
    has_begun.recv().expect("it begins");
    let waiting = bulkhead.submit_blocking(|| ()).expect("free");
    assert!(!running.cancel(), "a thread cannot be stopped");
    drop(here);
    runtime.shutdown_background();
    assert_eq!(bulkhead.status().in_flight, 2, "one runs, and one waits for the thread");
    end.send(()).expect("it waits");
    assert_eq!(running.join().expect("it came to its end"), 5);
    let ran = match waiting.join() {
        Ok(()) => 1,
        Err(JoinError::Lost) => 0,
        Err(other) => panic!("{other}"),
    };
    assert_eq!((bulkhead.status().totals.finished, bulkhead.status().totals.abandoned), (1 + ran, 1 - ran));
    settled(&bulkhead);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closure_whose_handle_is_dropped_keeps_its_slot() {
    let bulkhead = bulkhead(1, 1);
    let (end, may_end) = mpsc::channel::<()>();
    drop(bulkhead.submit_blocking(move || may_end.recv()).expect("free"));
    let next = bulkhead.submit(async { 5 }).expect("there is room");
    for _ in 0..100 {
        yield_now().await;
    }
    assert!(!next.is_finished() && bulkhead.status().in_flight == 1);
    end.send(()).expect("it waits");
    assert_eq!(next.await.expect("its turn"), 5);
    settled(&bulkhead);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn panics_come_through_the_handle() {
    let bulkhead = bulkhead(1, 1);
    let task = bulkhead.submit(async { panic!("on purpose") }).expect("free");
    let closure = bulkhead.submit_blocking(|| panic!("on purpose")).expect("there is room");
    for handle in [task, closure] {
        let handle: JoinHandle<()> = handle;
        let Err(JoinError::Panicked(panic)) = handle.await else { panic!("it panicked") };
        assert_eq!(panic.message().as_deref(), Some("on purpose"));
    }
    settled(&bulkhead);
}

/// From several threads at once, with a third given up at some time, and everything adds up.
#[test]
fn thousands_of_operations_from_many_threads() {
    const THREADS: usize = 4;
    const ROUNDS: usize = 1_000;
    let runtime = many_threads();
    let bulkhead = bulkhead(3, THREADS * ROUNDS);
    let (running, ran) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (running, ran) = (Arc::new(running), Arc::new(ran));
    let cancelled: usize = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    let _here = runtime.enter();
                    (0..ROUNDS).filter(|&round| submit_one(&bulkhead, &running, &ran, round)).count()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    });
    bulkhead.close();
    bulkhead.blocking().closed();
    until(|| bulkhead.status().totals.settled_waiting() == bulkhead.status().totals.queued);
    let status = bulkhead.status();
    let never = status.totals.abandoned + status.totals.cancelled + status.totals.closed_while_waiting;
    assert!(status.peak_in_flight <= 3 && never >= cancelled as u64);
    assert_eq!(status.totals.finished + never, (THREADS * ROUNDS) as u64);
    settled(&bulkhead);
}

/// Whether it was given up before it began.
fn submit_one(bulkhead: &Bulkhead, running: &Arc<AtomicUsize>, ran: &Arc<AtomicUsize>, round: usize) -> bool {
    let (running, ran) = (Arc::clone(running), Arc::clone(ran));
    let work = move || {
        assert!(running.fetch_add(1, SeqCst) < 3, "over the limit");
        ran.fetch_add(1, SeqCst);
        running.fetch_sub(1, SeqCst);
    };
    let handle = if round % 5 == 0 {
        bulkhead.submit_blocking(work)
    } else {
        bulkhead.submit(async move {
            work();
            yield_now().await;
        })
    };
    let handle = handle.expect("there is room for all");
    match round % 3 {
        0 => handle.cancel(),
        1 => handle.join().map(|()| false).expect("it ran"),
        _ => false,
    }
}
