//! Cancelling submitted operations.

use std::future::pending;
use std::task::Waker;

use super::by_hand::{ByHand, Treatment};
use super::{Log, ended, is_cancelled, on, settled, setup};

#[test]
fn cancelling_a_queued_operation_frees_its_place_immediately() {
    let (mut executor, bulkhead) = setup(1, 1);
    let running = bulkhead.owned().try_slot().expect("free");
    for polled in [false, true] {
        let queued = bulkhead.submit(async { unreachable!("the operation never began") }).expect("there is room");
        if polled {
            executor.run_until_idle();
        }
        assert!(queued.cancel() && queued.cancel(), "no operation has begun or ended");
        assert_eq!(bulkhead.status().waiting, 0);
        let next = bulkhead.submit_blocking(|| unreachable!("the operation never began")).expect("there is room again");
        if polled {
            executor.run_until_idle();
        }
        assert!(next.cancel());
        executor.run_until_idle();
        assert!(!queued.cancel() && !next.cancel(), "both operations have ended");
        assert!(is_cancelled::<()>(queued) && is_cancelled::<()>(next));
    }
    assert_eq!(bulkhead.status().totals.cancelled, 4);
    drop(running);
    settled(&bulkhead);
}

#[test]
fn cancelling_an_operation_before_it_begins_passes_its_slot_on() {
    let (mut executor, bulkhead) = setup(1, 9);
    let admitted = bulkhead.submit(async { unreachable!("the operation never began") }).expect("free");
    let handed_over = bulkhead.submit(async { unreachable!("the operation never began") }).expect("there is room");
    let closure = bulkhead.submit_blocking(|| unreachable!("the operation never began")).expect("there is room");
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
fn cancelling_a_running_future_drops_it_at_its_await() {
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
fn cancelling_after_the_end_changes_nothing() {
    let (mut executor, bulkhead) = setup(1, 1);
    let handle = bulkhead.submit(async { 5 }).expect("free");
    executor.run_until_idle();
    assert!(!handle.cancel());
    assert_eq!(ended(handle).expect("the operation had ended"), 5);
}

#[test]
fn a_handle_can_cancel_on_drop() {
    let (mut executor, bulkhead) = setup(1, 9);
    let running = bulkhead.submit(pending::<()>()).expect("free").cancel_on_drop();
    let queued =
        bulkhead.submit(async { unreachable!("the operation never began") }).expect("there is room").cancel_on_drop();
    let last = executor.spawn(bulkhead.submit(async { 5 }).expect("there is room").cancel_on_drop());
    executor.run_until_idle();
    drop(queued);
    assert_eq!(bulkhead.status().waiting, 1);
    drop(running);
    executor.run_until_idle();
    assert_eq!(last.output().expect("the operation has ended").expect("its turn"), 5);
    settled(&bulkhead);
}

/// The runtime drops the task before it polls it again.
#[test]
fn an_operation_stays_cancelled_when_its_runtime_is_dropped() {
    let runtime = ByHand::new(Treatment::Keep);
    let bulkhead = on(runtime.clone(), 1, 1);
    let running = bulkhead.submit(pending::<()>()).expect("free");
    let queued = bulkhead.submit(pending::<()>()).expect("there is room");
    runtime.poll_tasks(Waker::noop());
    assert!(!running.cancel() && queued.cancel());
    runtime.clear();
    assert!(is_cancelled(running) && is_cancelled(queued));
    settled(&bulkhead);
}
