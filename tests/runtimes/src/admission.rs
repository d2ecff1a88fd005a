//! Admission: which calls get a slot, by which method, in which order.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bulklink::{ExecuteError, Reason, Request};

use crate::Harness;
use crate::scene::{LIMIT, LONG, play, yield_now};

pub(crate) fn a_call_waits_for_its_turn<H: Harness>() {
    play::<H>(
        |limits| limits.parallelism(1).waiting_room(5),
        async |scene| {
            let running = scene.bulkhead.slot().await.expect("free");
            let ways = [Request::new(), Request::new().within(LONG), Request::new().before(scene.after(LONG))];
            for request in ways {
                let waiting = scene.queued(request).await;
                drop(waiting);
                scene.until(|status| status.waiting == 0).await;
            }
            let waiting = scene.queued(Request::new()).await;
            scene.sleep(LIMIT / 4).await;
            drop(running);
            assert_eq!(waiting.await.expect("it was admitted").cost(), 1);
            let status = scene.bulkhead.status();
            assert_eq!((status.totals.admitted_from_queue, status.totals.cancelled), (1, 3));
            assert!(status.longest_wait() >= LIMIT / 4, "{:?}", status.longest_wait());
        },
    );
}

pub(crate) fn a_call_with_now_never_waits<H: Harness>() {
    play::<H>(
        |limits| limits.parallelism(1).waiting_room(5),
        async |scene| {
            let running = scene.bulkhead.try_slot().expect("free");
            let now = Request::new().now();
            let rejected = [
                scene.bulkhead.try_slot().map(drop),
                scene.bulkhead.owned().try_slot().map(drop),
                scene.bulkhead.with(now).slot().await.map(drop),
                scene.bulkhead.with(Request::new().now()).execute(async {}).await,
            ];
            for rejection in rejected.map(|outcome| outcome.expect_err("taken")) {
                assert_eq!((rejection.reason(), rejection.waited()), (Reason::Saturated, Duration::ZERO));
            }
            drop(running);
            drop(scene.bulkhead.with(now).slot().await.expect("free"));
        },
    );
}

pub(crate) fn calls_beyond_the_waiting_room_are_rejected_immediately<H: Harness>() {
    play::<H>(
        |limits| limits.parallelism(2).waiting_room(1),
        async |scene| {
            let running = [scene.bulkhead.slot().await, scene.bulkhead.slot().await].map(|slot| slot.expect("free"));
            let waiting = scene.queued(Request::new()).await;
            let rejection = scene.bulkhead.slot().await.expect_err("full");
            let occupancy = rejection.occupancy();
            assert_eq!((rejection.reason(), occupancy.in_flight(), occupancy.waiting()), (Reason::Saturated, 2, 1));
            drop(running);
            drop(waiting.await.expect("it was admitted"));
        },
    );
}

pub(crate) fn waiters_are_admitted_in_fifo_order<H: Harness>() {
    const TASKS: usize = 8;
    play::<H>(
        |limits| limits.parallelism(1).waiting_room(TASKS),
        async |scene| {
            let order = Arc::new(Mutex::new(vec![]));
            let running = scene.bulkhead.slot().await.expect("free");
            let mut tasks = vec![];
            for number in 0..TASKS {
                let (bulkhead, order) = (scene.bulkhead.clone(), Arc::clone(&order));
                tasks.push(scene.spawn(async move {
                    let operation = async {
                        order.lock().expect("no panic").push(number);
                        yield_now().await;
                    };
                    bulkhead.execute(operation).await
                }));
                scene.until(|status| status.waiting == number + 1).await;
            }
            drop(running);
            for task in tasks {
                task.await.expect("there was room for all to wait");
            }
            assert_eq!(*order.lock().expect("no panic"), (0..TASKS).collect::<Vec<_>>());
        },
    );
}

pub(crate) fn execute_returns_the_value_the_error_or_the_rejection<H: Harness>() {
    play::<H>(
        |limits| limits.parallelism(1),
        async |scene| {
            let bulkhead = scene.bulkhead.clone();
            let outcomes = scene.spawn(async move {
                let value = bulkhead.execute_fallible(async { Ok::<_, &str>(7) }).await;
                let own = bulkhead.execute_fallible(async { Err::<(), _>("its own") }).await;
                let _running = bulkhead.slot().await;
                let rejected = bulkhead.execute_fallible(async { Ok::<_, &str>(7) }).await;
                (value, own, rejected, bulkhead.wrap(async |number: u32| 2 * number).call(4).await)
            });
            let (value, own, rejected, wrapped) = outcomes.await;
            assert_eq!((value, own), (Ok(7), Err(ExecuteError::Operation("its own"))));
            assert!(
                matches!(rejected, Err(ExecuteError::Rejected(rejection)) if rejection.reason() == Reason::Saturated)
            );
            assert_eq!(wrapped.expect_err("taken").reason(), Reason::Saturated);
        },
    );
}
