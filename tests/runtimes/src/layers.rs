//! Layers of `bulklink-tower` on the runtime's clock and timers.

use std::convert::Infallible;
use std::future::{pending, ready};
use std::time::Duration;

use bulklink::Reason;
use bulklink_tower::{BackpressureLayer, BulkheadLayer, DeadlinePassed, rejection};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::Harness;
use crate::scene::{LIMIT, LONG, play};

pub(crate) fn a_layer_admits_queues_and_rejects<H: Harness>() {
    play::<H>(
        |limits| limits.parallelism(1).waiting_room(1),
        async |scene| {
            let service = service_fn(|limit: Duration| ready(Ok::<_, Infallible>(limit)));
            let layer = BulkheadLayer::new(&scene.bulkhead).wait_limit(|&limit| Some(limit)).layer(service);
            assert_eq!(layer.clone().oneshot(LONG).await.expect("free"), LONG);
            let running = scene.bulkhead.owned().slot().await.expect("free");
            let waiting = scene.spawn(layer.clone().oneshot(LONG));
            scene.until(|status| status.waiting == 1).await;
            let full = layer.clone().oneshot(LIMIT).await.expect_err("no room");
            assert_eq!(rejection(&*full).expect("one").reason(), Reason::Saturated);
            drop(waiting);
            scene.until(|status| status.waiting == 0).await;
            let expired = scene.spawn(layer.oneshot(LIMIT)).await.expect_err("taken");
            assert_eq!(rejection(&*expired).expect("one").reason(), Reason::Expired);
            let mut reserving = BackpressureLayer::new(&scene.bulkhead).layer(service);
            let waiting = scene.spawn(async move { reserving.ready().await.expect("reserved").call(LIMIT).await });
            drop(running);
            assert_eq!(waiting.await.expect("free"), LIMIT);
        },
    );
}

pub(crate) fn a_layer_cancels_a_request_at_its_deadline<H: Harness>() {
    play::<H>(
        |limits| limits.parallelism(1),
        async |scene| {
            let service = service_fn(|_: Duration| pending::<Result<(), Infallible>>());
            let layer = BulkheadLayer::new(&scene.bulkhead).deadline_after(|&time| Some(time)).cancel_at_deadline();
            let (answer, took) = scene.timed(layer.layer(service).oneshot(LIMIT)).await;
            assert!(answer.expect_err("it never ends").is::<DeadlinePassed>());
            assert!(took >= LIMIT, "{took:?}");
        },
    );
}
