//! Which submitted operations are accepted, and in which order they run.

use std::future::pending;

use bulklink::runtime::Clock;
use bulklink::{Reason, Request, SubmitError};

use super::{Log, Submitted, ended, rejected, settled, setup};
use crate::{ms, slot};

fn reason<T: std::fmt::Debug>(refused: Result<T, SubmitError>) -> Reason {
    match refused.expect_err("there is no room") {
        SubmitError::Rejected(rejection) => rejection.reason(),
        other => panic!("{other}"),
    }
}

#[test]
fn a_burst_that_fits_is_accepted_and_one_more_rejected() {
    let (mut executor, bulkhead) = setup(3, 4);
    for _ in 0..3 {
        let log = Log::default();
        let burst: Vec<_> = (0..7)
            .map(|number| {
                let log = log.clone();
                bulkhead.submit(async move { log.note(number) }).expect("there is room")
            })
            .collect();
        assert_eq!((bulkhead.status().in_flight, bulkhead.status().waiting), (3, 4), "before anything runs");
        assert_eq!(reason(bulkhead.submit(async {})), Reason::Saturated);
        executor.run_until_idle();
        assert_eq!(log.all(), [0, 1, 2, 3, 4, 5, 6]);
        for handle in burst {
            ended(handle).expect("it ran");
        }
    }
    assert_eq!((bulkhead.status().totals.finished, bulkhead.status().totals.saturated), (21, 3));
    settled(&bulkhead);
}

#[test]
fn the_slot_is_free_when_the_handle_completes() {
    let (mut executor, bulkhead) = setup(1, 0);
    let rounds = executor.spawn({
        let bulkhead = bulkhead.clone();
        async move {
            for _ in 0..100 {
                bulkhead.submit(async {}).expect("the slot is free").await.expect("it ran");
                bulkhead.submit_blocking(|| ()).expect("the slot is free").await.expect("it ran");
            }
        }
    });
    executor.run_until_idle();
    assert!(rounds.is_finished());
    settled(&bulkhead);
}

/// The place in the queue is taken by the call of `submit`, not by the first poll of the task.
#[test]
fn submitted_operations_and_other_calls_share_one_fifo_queue() {
    let (mut executor, bulkhead) = setup(1, 9);
    let log = Log::default();
    let first = bulkhead.submit(pending::<()>()).expect("free");
    let second = bulkhead.submit({
        let log = log.clone();
        async move { log.note(2) }
    });
    let third = executor.spawn(bulkhead.owned().slot());
    executor.run_until_idle();
    let fourth = bulkhead.submit_blocking({
        let log = log.clone();
        move || log.note(4)
    });
    executor.run_until_idle();
    assert!(!third.is_finished() && log.all().is_empty());
    first.cancel();
    executor.run_until_idle();
    assert_eq!(log.all(), [2]);
    drop(slot(&third));
    executor.run_until_idle();
    assert_eq!(log.all(), [2, 4]);
    drop((second, fourth));
    settled(&bulkhead);
}

#[test]
fn invalid_and_late_requests_are_rejected_immediately() {
    let (executor, bulkhead) = setup(2, 9);
    let now = executor.clock().now();
    let submit = |request| reason(bulkhead.with(request).submit(async {}));
    assert_eq!(submit(Request::new().cost(3)), Reason::InvalidCost);
    assert_eq!(submit(Request::new().before(now)), Reason::Expired);
    let both = bulkhead.with(Request::new().cost(2)).submit(pending::<()>()).expect("free");
    assert_eq!(submit(Request::new().now()), Reason::Saturated);
    assert_eq!(reason(bulkhead.with(Request::new().now()).submit(async {})), Reason::Saturated);
    assert_eq!(reason(bulkhead.with(Request::new().now()).submit_blocking(|| ())), Reason::Saturated);
    assert_eq!(submit(Request::new().within(ms(0))), Reason::Expired);
    both.cancel();
    bulkhead.close();
    assert_eq!(submit(Request::new()), Reason::Closed);
    assert_eq!(reason(bulkhead.submit_blocking(|| ())), Reason::Closed);
}

#[test]
fn a_limit_counts_from_the_call_of_submit() {
    for closure in [false, true] {
        let (mut executor, bulkhead) = setup(1, 9);
        let running = bulkhead.owned().try_slot().expect("free");
        let submit = |bulkhead: &Submitted, request| {
            if closure {
                bulkhead.with(request).submit_blocking(|| unreachable!("it never began"))
            } else {
                bulkhead.with(request).submit(async { unreachable!("it never began") })
            }
        };
        let deadline = executor.clock().now() + ms(20);
        let within = submit(&bulkhead, Request::new().within(ms(10))).expect("there is room");
        let before = submit(&bulkhead, Request::new().before(deadline)).expect("there is room");
        executor.clock().advance(ms(5));
        executor.advance(ms(4));
        assert!(!within.is_finished());
        executor.advance(ms(1));
        assert_eq!(rejected::<()>(within), Reason::Expired);
        executor.advance(ms(10));
        assert_eq!(rejected::<()>(before), Reason::Expired);
        drop(running);
        settled(&bulkhead);
    }
}

#[test]
fn closing_rejects_queued_operations_and_lets_admitted_ones_go_on() {
    let (mut executor, bulkhead) = setup(1, 9);
    let first = bulkhead.submit(async { 1 }).expect("free");
    let second = bulkhead.submit(async { 2 }).expect("there is room");
    let third = bulkhead.submit_blocking(|| 3).expect("there is room");
    bulkhead.close();
    executor.run_until_idle();
    assert_eq!(ended(first).expect("it was admitted"), 1);
    assert_eq!((rejected(second), rejected(third)), (Reason::Closed, Reason::Closed));
    settled(&bulkhead);
}
