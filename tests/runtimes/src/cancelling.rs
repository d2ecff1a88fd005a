//! Calls dropped in every state: the place in the queue is lost, and the slot is passed on.

use std::future::pending;
use std::panic::AssertUnwindSafe;

use bulklink::{Reason, Request};
use futures_util::FutureExt;

use crate::Harness;
use crate::scene::{LONG, play, yield_now};

pub(crate) fn a_call_dropped_while_it_waits_loses_its_place<H: Harness>() {
    play::<H>(
        |limits| limits.parallelism(1).waiting_room(2).wait_limit(LONG),
        async |scene| {
            let running = scene.bulkhead.slot().await.expect("free");
            let (first, second) = (scene.queued(Request::new()).await, scene.queued(Request::new()).await);
            drop(first);
            scene.until(|status| status.waiting == 1).await;
            drop(running);
            drop(second.await.expect("the next call moved up"));
            let totals = scene.bulkhead.status().totals;
            assert_eq!((totals.cancelled, totals.abandoned, totals.finished), (1, 0, 2));
        },
    );
}

pub(crate) fn an_uncollected_slot_goes_to_the_next_call<H: Harness>() {
    play::<H>(
        |limits| limits.parallelism(1).waiting_room(2).wait_limit(LONG),
        async |scene| {
            let running = scene.bulkhead.slot().await.expect("free");
            let granted = scene.polled_once(Request::new());
            let next = scene.queued(Request::new()).await;
            drop(running);
            let status = scene.bulkhead.status();
            assert_eq!((status.in_flight, status.waiting), (1, 1), "granted and not collected yet");
            drop(granted);
            drop(next.await.expect("the slot went to the next call"));
            let totals = scene.bulkhead.status().totals;
            assert_eq!((totals.cancelled, totals.abandoned, totals.finished), (0, 1, 2));
        },
    );
}

pub(crate) fn an_operation_dropped_before_its_end_gives_its_slot_back<H: Harness>() {
    play::<H>(
        |limits| limits.parallelism(1).waiting_room(2),
        async |scene| {
            let bulkhead = scene.bulkhead.clone();
            let running = scene.spawn(async move { bulkhead.execute(pending::<()>()).await });
            scene.until(|status| status.in_flight == 1).await;
            let next = scene.queued(Request::new()).await;
            drop(running);
            drop(next.await.expect("the slot came back"));
            assert_eq!(scene.bulkhead.status().totals.finished, 2);
        },
    );
}

pub(crate) fn an_operation_that_panics_gives_its_slot_back<H: Harness>() {
    play::<H>(
        |limits| limits.parallelism(1).waiting_room(2),
        async |scene| {
            let bulkhead = scene.bulkhead.clone();
            let operation = async {
                yield_now().await;
                panic!("an operation that panics, on purpose");
            };
            let running = scene.spawn(async move { bulkhead.execute(operation).await.map(|never: ()| never) });
            scene.until(|status| status.totals.admitted == 1).await;
            assert!(AssertUnwindSafe(running).catch_unwind().await.is_err(), "the panic is the caller's");
            assert_eq!(scene.bulkhead.status().totals.finished, 1);
            let free = scene.bulkhead.try_slot().expect("the slot came back");
            assert_eq!(scene.bulkhead.try_slot().expect_err("taken").reason(), Reason::Saturated);
            drop(free);
        },
    );
}
