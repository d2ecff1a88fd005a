//! Submitted operations, which the runtime runs in the background.

use std::future::pending;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use bulklink::{JoinError, JoinHandle, Reason, Request, SubmitError};

use crate::Harness;
use crate::load::Running;
use crate::scene::{LIMIT, Scene, play, play_on_threads, yield_now};

/// A fault of promesa: after a slot is released, it rejects a burst that fits.
pub(crate) fn a_burst_that_fits_exactly_is_never_rejected<H: Harness>() {
    const ROUNDS: usize = 50;
    play::<H>(
        |limits| limits.parallelism(3).waiting_room(5),
        async |scene| {
            for round in 0..ROUNDS {
                let burst: Vec<_> = (0..8)
                    .map(|number| match (round + number) % 2 {
                        0 => scene.bulkhead.submit(yield_now()).expect("it fits"),
                        _ => scene.bulkhead.submit_blocking(|| ()).expect("it fits"),
                    })
                    .collect();
                for handle in burst {
                    handle.await.expect("it ran");
                }
            }
            assert_eq!(scene.bulkhead.status().totals.finished, 8 * ROUNDS as u64);
        },
    );
}

pub(crate) fn submitted_operations_run_in_order<H: Harness>() {
    play::<H>(
        |limits| limits.parallelism(1).waiting_room(4),
        async |scene| {
            let order = Arc::new(Mutex::new(vec![]));
            let running = scene.bulkhead.try_slot().expect("free");
            let log = |number| {
                let order = Arc::clone(&order);
                move || order.lock().expect("no panic").push(number)
            };
            let mut handles = vec![];
            for number in [0, 2] {
                let task = log(number);
                handles.push(scene.bulkhead.submit(async move { task() }).expect("there is room"));
                handles.push(scene.bulkhead.submit_blocking(log(number + 1)).expect("there is room"));
            }
            let Err(SubmitError::Rejected(rejection)) = scene.bulkhead.submit(async {}) else { panic!("it is full") };
            assert_eq!(rejection.reason(), Reason::Saturated);
            drop(running);
            for handle in handles {
                handle.await.expect("it was admitted");
            }
            assert_eq!(*order.lock().expect("no panic"), [0, 1, 2, 3]);
        },
    );
}

pub(crate) fn a_rejection_by_a_limit_comes_through_the_handle<H: Harness>() {
    play::<H>(
        |limits| limits.parallelism(1).waiting_room(5),
        async |scene| {
            let running = scene.bulkhead.submit(pending::<()>()).expect("free");
            let limited = Request::new().within(LIMIT);
            let task = scene.bulkhead.with(limited).submit(async {}).expect("there is room");
            let closure = scene.bulkhead.with(limited).submit_blocking(|| ()).expect("there is room");
            for handle in [task, closure] {
                let Err(JoinError::Rejected(rejection)) = handle.await else { panic!("there was no slot") };
                assert_eq!(rejection.reason(), Reason::Expired);
                assert!(rejection.waited() >= LIMIT, "{rejection}");
            }
            assert!(!running.cancel(), "the operation had begun");
            assert!(matches!(running.await, Err(JoinError::Cancelled)));
        },
    );
}

pub(crate) fn a_closure_whose_handle_is_dropped_keeps_its_slot<H: Harness>() {
    play::<H>(
        |limits| limits.parallelism(1).waiting_room(1),
        async |scene| {
            let (end, may_end) = channel::<()>();
            drop(scene.bulkhead.submit_blocking(move || may_end.recv()).expect("free"));
            let next = scene.bulkhead.submit(async { 5 }).expect("there is room");
            scene.sleep(LIMIT / 4).await;
            assert!(!next.is_finished() && scene.bulkhead.status().in_flight == 1);
            end.send(()).expect("it waits");
            assert_eq!(next.await.expect("it was admitted"), 5);
        },
    );
}

pub(crate) fn panics_come_through_the_handle<H: Harness>() {
    play::<H>(
        |limits| limits.parallelism(1).waiting_room(1),
        async |scene| {
            let task = scene.bulkhead.submit(async { panic!("on purpose") }).expect("free");
            let closure = scene.bulkhead.submit_blocking(|| panic!("on purpose")).expect("there is room");
            for handle in [task, closure] {
                let handle: JoinHandle<()> = handle;
                let Err(JoinError::Panicked(panic)) = handle.await else { panic!("the operation panicked") };
                assert_eq!(panic.message().as_deref(), Some("on purpose"));
            }
        },
    );
}

/// Submits from several threads at the same time, and cancels a third of the operations.
pub(crate) fn thousands_of_operations_from_many_threads_add_up<H: Harness>() {
    const THREADS: usize = 4;
    const ROUNDS: usize = 500;
    let running = Running::at_most(3);
    play_on_threads::<H>(
        THREADS,
        |limits| limits.parallelism(3).waiting_room(THREADS * ROUNDS),
        async |scene| {
            for round in 0..ROUNDS {
                let handle = submit_one(scene, &running, round);
                match round % 3 {
                    0 => _ = handle.cancel(),
                    1 => handle.await.expect("it ran"),
                    _ => drop(handle),
                }
            }
        },
    );
}

fn submit_one<H: Harness>(scene: &Scene<H>, running: &Running, round: usize) -> JoinHandle<()> {
    let running = running.clone();
    let submitted = if round.is_multiple_of(5) {
        scene.bulkhead.submit_blocking(move || drop(running.enter()))
    } else {
        scene.bulkhead.submit(async move {
            let _running = running.enter();
            yield_now().await;
        })
    };
    submitted.expect("room for all to wait")
}
