//! Faults that were seen in other crates' limits, as tests of these layers. Those that need a
//! server are in `sockets`.

use std::convert::Infallible;
use std::future::{Future, Ready, pending, ready};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bulklink_tokio::{Bulkhead, Reason, Rejection};
use bulklink_tower::{BackpressureLayer, BoxError, BulkheadLayer, rejection};
use futures_util::FutureExt;
use tokio::runtime::Handle;
use tokio::task::{JoinSet, yield_now};
use tokio::time::timeout;
use tower::{Layer, Service, ServiceExt, service_fn};

fn bulkhead(slots: usize, waiting_room: usize) -> Bulkhead {
    Bulkhead::builder("upstream").parallelism(slots).waiting_room(waiting_room).build().unwrap()
}

fn echo()
-> impl Service<u32, Response = u32, Error = Infallible, Future = impl Future<Output = Result<u32, Infallible>> + Send>
+ Clone
+ Send {
    service_fn(|request: u32| async move {
        yield_now().await;
        Ok(request)
    })
}

/// A service that becomes ready, or fails to, on the signal of the test.
#[derive(Clone, Default)]
struct Fickle {
    is_ready: Arc<AtomicBool>,
    is_broken: Arc<AtomicBool>,
}

impl Service<u32> for Fickle {
    type Response = u32;
    type Error = io::Error;
    type Future = Ready<io::Result<u32>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_broken.load(Ordering::SeqCst) {
            return Poll::Ready(Err(io::Error::other("broken")));
        }
        if self.is_ready.load(Ordering::SeqCst) {
            return Poll::Ready(Ok(()));
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    fn call(&mut self, request: u32) -> Self::Future {
        ready(Ok(request))
    }
}

fn reason(error: &BoxError) -> Option<Reason> {
    rejection(&**error).map(Rejection::reason)
}

async fn refused(call: impl Future<Output = Result<u32, BoxError>>) -> Option<Reason> {
    let answer = timeout(Duration::from_secs(8), call).await.expect("an answer");
    reason(&answer.unwrap_err())
}

/// Tower #434 (disarm): forwarders that are ready, and wait for something to forward, use up the
/// capacity of the service that they share, and all of them are stuck.
#[tokio::test]
async fn tower_434_forwarders_that_are_ready_and_idle_take_nothing_from_the_others() {
    let upstream = bulkhead(2, 0);
    let service = BulkheadLayer::new(&upstream).layer(echo());
    let mut forwarders: Vec<_> = (0..50).map(|_| service.clone()).collect();
    for forwarder in &mut forwarders {
        forwarder.ready().await.unwrap();
    }
    for forwarder in forwarders.iter_mut().rev() {
        assert_eq!(forwarder.call(7).await.unwrap(), 7);
    }
    assert_eq!((upstream.status().in_flight, upstream.status().totals.admitted), (0, 50));
}

/// Hyper-util #297: a worker is parked in the readiness of a limited connector though it has found
/// another connection meanwhile. A slot that becomes free is given to it, and all are stuck.
#[tokio::test]
async fn hyper_util_297_a_worker_that_no_longer_wants_its_reservation_keeps_none() {
    let upstream = bulkhead(4, 1000);
    let service = BackpressureLayer::new(&upstream).layer(echo());
    let mut workers = JoinSet::new();
    for worker in 0..512 {
        let mut service = service.clone();
        workers.spawn(async move {
            for round in 0..4 {
                // Asks for a reservation, and in every other round goes without it: parked, or
                // with a slot that it does not use.
                let _ = service.ready().now_or_never();
                if (worker + round) % 2 == 0 {
                    service = service.clone();
                }
                yield_now().await;
                assert_eq!(service.ready().await.unwrap().call(round).await.unwrap(), round);
            }
        });
    }
    drop(service);
    timeout(Duration::from_secs(8), workers.join_all()).await.expect("none is stuck");
    assert_eq!((upstream.status().in_flight, upstream.status().waiting), (0, 0));
    assert!(upstream.status().totals.admitted >= 4 * 512);
}

/// Tower #793: a limit that rejects instead of waiting, where tower's way is to shed load around
/// it, which also rejects requests while the service inside is only not ready yet.
#[tokio::test]
async fn tower_793_only_a_full_bulkhead_rejects_and_a_service_that_is_not_ready_is_waited_for() {
    let upstream = bulkhead(1, 0);
    let fickle = Fickle::default();
    let mut service = BulkheadLayer::new(&upstream).layer(fickle.clone());
    let mut first = service.call(7).boxed();
    assert!(first.as_mut().now_or_never().is_none(), "the service is not ready");
    assert_eq!(reason(&service.call(8).now_or_never().expect("immediately").unwrap_err()), Some(Reason::Saturated));
    fickle.is_ready.store(true, Ordering::SeqCst);
    assert_eq!(first.await.unwrap(), 7);
    assert_eq!(upstream.status().in_flight, 0);
}

/// Linkerd2-proxy #225: the error of a request that is shed does not know the limit, and is found
/// again only if no layer has boxed it.
#[tokio::test]
async fn linkerd2_proxy_225_a_rejection_keeps_its_figures_through_layers_that_box_it() {
    let upstream = bulkhead(3, 0);
    let _running = [upstream.try_slot().unwrap(), upstream.try_slot().unwrap(), upstream.try_slot().unwrap()];
    let limited = BulkheadLayer::new(&upstream).layer(echo());
    let layers = tower::ServiceBuilder::new()
        .timeout(Duration::from_secs(60))
        .map_err(|error: BoxError| io::Error::other(error))
        .buffer(8)
        .service(limited);
    let error = layers.oneshot(7).await.unwrap_err();
    let found = rejection(&*error).expect("a rejection");
    assert_eq!((found.label(), found.reason(), found.occupancy().in_use()), ("upstream", Reason::Saturated, 3));
    assert_eq!(found.to_string(), "bulkhead upstream: saturated (3 of 3 in use, 0 of 0 waiting)");
}

/// Tower-resilience #399: readiness was awaited in a task of its own, and a limit that was closed,
/// or with a task that failed, reported to be ready without a permit.
#[tokio::test]
async fn tower_resilience_399_readiness_is_a_slot_or_a_rejection_and_needs_no_task() {
    let upstream = bulkhead(1, 10);
    let service = BackpressureLayer::new(&upstream).layer(echo());
    let tasks = Handle::current().metrics().num_alive_tasks();
    let mut clones: Vec<_> = (0..4).map(|_| service.clone()).collect();
    clones[0].ready().await.unwrap();
    for waiting in &mut clones[1..] {
        assert!(waiting.ready().now_or_never().is_none());
    }
    assert_eq!(Handle::current().metrics().num_alive_tasks(), tasks);
    // The first waiter gives up, and the others keep their order.
    drop(clones.remove(1));
    assert_eq!(clones[0].call(7).await.unwrap(), 7);
    assert!(clones[2].ready().now_or_never().is_none(), "it is not its turn");
    assert!(clones[1].ready().now_or_never().is_some());
    upstream.close();
    let error = clones[2].ready().await.unwrap().call(7).await.unwrap_err();
    assert_eq!(reason(&error), Some(Reason::Closed));
    drop(clones);
    assert_eq!((upstream.status().in_flight, upstream.status().waiting), (0, 0));
}

#[tokio::test]
async fn tower_resilience_399_a_service_that_fails_to_become_ready_gives_the_slot_back() {
    let upstream = bulkhead(1, 0);
    let fickle = Fickle::default();
    fickle.is_broken.store(true, Ordering::SeqCst);
    let mut reserving = BackpressureLayer::new(&upstream).layer(fickle.clone());
    assert!(reason(&reserving.ready().await.err().unwrap()).is_none());
    assert_eq!(upstream.status().in_flight, 0);
    let mut admitting = BulkheadLayer::new(&upstream).layer(fickle);
    assert!(reason(&admitting.call(7).await.unwrap_err()).is_none());
    assert_eq!(upstream.status().in_flight, 0);
}

/// Tower-resilience #9: the queue has no bound, and all rejections are the same.
#[tokio::test(start_paused = true)]
async fn tower_resilience_9_the_queue_is_bounded_and_each_rejection_says_why() {
    let limit = Duration::from_millis(50);
    let upstream = Bulkhead::builder("upstream").capacity(2).waiting_room(1).wait_limit(limit).build().unwrap();
    let layer = BulkheadLayer::new(&upstream).cost(|&cost: &u32| cost as usize);
    let mut service = layer.layer(service_fn(|_: u32| pending::<Result<u32, Infallible>>()));
    let _running = tokio::spawn(service.call(2));
    yield_now().await;
    let waiting = tokio::spawn(service.call(1));
    yield_now().await;
    assert_eq!(refused(service.call(1)).await, Some(Reason::Saturated));
    assert_eq!(refused(service.call(3)).await, Some(Reason::InvalidCost));
    assert_eq!(refused(async { waiting.await.unwrap() }).await, Some(Reason::Expired));
    upstream.close();
    assert_eq!(refused(service.call(1)).await, Some(Reason::Closed));
}
