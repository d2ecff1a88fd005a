//! Giving up what was submitted.

use std::future::pending;
use std::task::Waker;

use super::by_hand::{ByHand, Manner};
use super::{Log, ended, is_cancelled, on, settled, setup};

#[test]
fn in_the_queue_its_place_is_free_at_once() {
    let (mut executor, bulkhead) = setup(1, 1);
    let running = bulkhead.try_slot_owned().expect("free");
    for polled in [false, true] {
        let queued = bulkhead.submit(async { unreachable!("it never began") }).expect("there is room");
        if polled {
            executor.run_until_idle();
        }
        assert!(queued.cancel() && queued.cancel(), "nothing has begun, nor ended");
        assert_eq!(bulkhead.status().waiting, 0);
        let next = bulkhead.submit_blocking(|| unreachable!("it never began")).expect("there is room again");
        if polled {
            executor.run_until_idle();
        }
        assert!(next.cancel());
        executor.run_until_idle();
        assert!(!queued.cancel() && !next.cancel(), "both have ended");
        assert!(is_cancelled::<()>(queued) && is_cancelled::<()>(next));
    }
    assert_eq!(bulkhead.status().totals.cancelled, 4);
    drop(running);
    settled(&bulkhead);
}

#[test]
fn with_a_slot_and_not_begun_it_is_abandoned_and_the_next_in_line_has_it() {
    let (mut executor, bulkhead) = setup(1, 9);
    let admitted = bulkhead.submit(async { unreachable!("it never began") }).expect("free");
    let handed_over = bulkhead.submit(async { unreachable!("it never began") }).expect("there is room");
    let closure = bulkhead.submit_blocking(|| unreachable!("it never began")).expect("there is room");
    let last = bulkhead.submit(async { 5 }).expect("there is room");
    assert!(admitted.cancel() && handed_over.cancel() && closure.cancel());
    assert_eq!((bulkhead.status().in_flight, bulkhead.status().totals.abandoned), (1, 3));
    executor.run_until_idle();
    assert_eq!(ended(last).expect("its turn"), 5);
    assert!([admitted, handed_over, closure].into_iter().all(is_cancelled::<()>));
    assert_eq!(bulkhead.status().totals.finished, 1);
    settled(&bulkhead);
}

#[test]
fn a_future_that_runs_is_dropped_where_it_awaits() {
    struct Dropped(Log);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.note(1);
        }
    }
    let (mut executor, bulkhead) = setup(1, 1);
    let log = Log::default();
    let dropped = Dropped(log.clone());
    let running = bulkhead.submit(async move {
        let _dropped = dropped;
        pending::<()>().await;
    });
    let running = running.expect("free");
    executor.run_until_idle();
    assert!(!running.cancel() && !running.cancel());
    assert!(log.all().is_empty() && !running.is_finished() && bulkhead.status().in_flight == 1);
    executor.run_until_idle();
    assert_eq!((log.all(), bulkhead.status().in_flight, bulkhead.status().totals.finished), (vec![1], 0, 1));
    assert!(is_cancelled(running));
    settled(&bulkhead);
}

#[test]
fn what_has_ended_has_ended() {
    let (mut executor, bulkhead) = setup(1, 1);
    let handle = bulkhead.submit(async { 5 }).expect("free");
    executor.run_until_idle();
    assert!(!handle.cancel());
    assert_eq!(ended(handle).expect("it had ended"), 5);
}

#[test]
fn dropping_can_cancel() {
    let (mut executor, bulkhead) = setup(1, 9);
    let running = bulkhead.submit(pending::<()>()).expect("free").cancel_on_drop();
    let queued = bulkhead.submit(async { unreachable!("it never began") }).expect("there is room").cancel_on_drop();
    let last = executor.spawn(bulkhead.submit(async { 5 }).expect("there is room").cancel_on_drop());
    executor.run_until_idle();
    drop(queued);
    assert_eq!(bulkhead.status().waiting, 1);
    drop(running);
    executor.run_until_idle();
    assert_eq!(last.output().expect("it has ended").expect("its turn"), 5);
    settled(&bulkhead);
}

/// The runtime drops the task before it comes to it again.
#[test]
fn what_was_cancelled_stays_so_when_its_runtime_goes() {
    let runtime = ByHand::new(Manner::Keep);
    let bulkhead = on(runtime.clone(), 1, 1);
    let running = bulkhead.submit(pending::<()>()).expect("free");
    let queued = bulkhead.submit(pending::<()>()).expect("there is room");
    runtime.poll_tasks(Waker::noop());
    assert!(!running.cancel() && queued.cancel());
    runtime.clear();
    assert!(is_cancelled(running) && is_cancelled(queued));
    settled(&bulkhead);
}
