//! Requests that cost more than one unit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use bulklink::Request;

use crate::Harness;
use crate::scene::{play, yield_now};

pub(crate) fn a_small_request_never_overtakes_a_large_one<H: Harness>() {
    play::<H>(
        |limits| limits.capacity(4).waiting_room(5),
        async |scene| {
            let running = scene.bulkhead.with(Request::new().cost(2)).slot().await.expect("free");
            let large = scene.queued(Request::new().cost(3)).await;
            let small = scene.queued(Request::new()).await;
            scene.bulkhead.try_slot().map(drop).expect_err("two units are free, and a call waits");
            assert_eq!((scene.bulkhead.status().waiting, scene.bulkhead.status().waiting_units), (2, 4));
            drop(running);
            let (large, small) = (large.await.expect("it was admitted"), small.await.expect("its turn"));
            assert_eq!((large.cost(), small.cost(), scene.bulkhead.status().free()), (3, 1, 0));
        },
    );
}

pub(crate) fn costs_share_one_capacity<H: Harness>() {
    const TASKS: usize = 300;
    const CAPACITY: usize = 5;
    play::<H>(
        |limits| limits.capacity(CAPACITY).waiting_room(TASKS),
        async |scene| {
            let in_use = Arc::new(AtomicUsize::new(0));
            let tasks: Vec<_> = (0..TASKS)
                .map(|task| {
                    let (bulkhead, in_use, cost) = (scene.bulkhead.clone(), Arc::clone(&in_use), task % CAPACITY + 1);
                    scene.spawn(async move {
                        let slot = bulkhead.with(Request::new().cost(cost)).slot().await.expect("room for all to wait");
                        assert!(in_use.fetch_add(slot.cost(), SeqCst) + cost <= CAPACITY, "over the capacity");
                        yield_now().await;
                        in_use.fetch_sub(cost, SeqCst);
                    })
                })
                .collect();
            for task in tasks {
                task.await;
            }
            let status = scene.bulkhead.status();
            assert_eq!((status.totals.finished, status.totals.finished_units), (300, 900));
            assert!(status.peak_in_use <= CAPACITY, "{status:?}");
        },
    );
}
