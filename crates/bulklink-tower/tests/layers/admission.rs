//! Admission by layers around services of any kind.

use std::convert::Infallible;
use std::error::Error;
use std::future::{Future, Ready, pending, poll_fn, ready};
use std::io;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll};
use std::time::Duration;

use bulklink_tokio::partitions::Class;
use bulklink_tokio::{Bulkhead, ExecuteError, JoinError, Partitions, Reason, Rejection, SubmitError};
use bulklink_tower::{BackpressureLayer, BulkheadLayer, rejection};
use futures_util::FutureExt;
use tokio::sync::oneshot;
use tower::{Layer, Service, ServiceExt, service_fn};

use super::one_slot;

type Answer = Result<u32, Infallible>;

/// A service that answers on the signal in its request.
fn manual()
-> impl Service<oneshot::Receiver<u32>, Response = u32, Error = oneshot::error::RecvError, Future: Send> + Clone {
    service_fn(|request: oneshot::Receiver<u32>| request)
}

fn echo() -> impl Service<u32, Response = u32, Error = Infallible, Future = impl Future<Output = Answer>> + Clone {
    service_fn(|request: u32| ready(Ok(request)))
}

#[tokio::test]
async fn a_clone_that_is_ready_and_never_called_starves_no_other() {
    let payments = one_slot();
    let layer = BulkheadLayer::new(&payments);
    let mut idle = layer.layer(echo());
    idle.ready().await.unwrap();
    assert_eq!(idle.clone().oneshot(7).await.unwrap(), 7);
    assert_eq!(payments.status().in_flight, 0);
}

#[tokio::test]
async fn a_reservation_is_given_back_when_its_clone_is_dropped() {
    let payments = Bulkhead::builder("payments").parallelism(1).waiting_room(1).build().unwrap();
    let layer = BackpressureLayer::new(&payments);
    let mut idle = layer.layer(echo());
    idle.ready().await.unwrap();
    let mut next = idle.clone();
    assert!(next.ready().now_or_never().is_none(), "the slot is reserved");
    drop(idle);
    assert_eq!(next.ready().await.unwrap().call(7).await.unwrap(), 7);
    assert_eq!(payments.status().in_flight, 0);
}

#[tokio::test]
async fn a_rejected_reservation_rejects_the_next_request() {
    let payments = one_slot();
    let _running = payments.try_slot().unwrap();
    let mut service = BackpressureLayer::new(&payments).layer(echo());
    let error = service.ready().await.unwrap().call(7).await.unwrap_err();
    assert_eq!(rejection(&*error).unwrap().reason(), Reason::Saturated);
}

#[tokio::test]
async fn a_service_that_is_ready_stays_so_until_it_is_called() {
    let payments = one_slot();
    let running = payments.owned().try_slot().unwrap();
    let mut service = BackpressureLayer::new(&payments).layer(echo());
    for _ in 0..3 {
        assert!(service.ready().now_or_never().is_some());
    }
    assert_eq!(payments.status().totals.saturated, 1, "polls of one reservation");
    assert!(service.call(7).await.is_err());

    service.ready().await.unwrap();
    drop(running);
    // The first slot that is free again is not one of the fast path.
    drop(payments.try_slot().unwrap());
    assert_eq!(service.ready().await.unwrap().call(7).await.unwrap(), 7, "a rejection of the past");
}

#[test]
fn a_rejection_is_found_however_it_is_boxed() {
    let payments = one_slot();
    let _running = payments.try_slot().unwrap();
    let rejected = || payments.try_slot().unwrap_err();
    let errors: [Box<dyn Error>; 9] = [
        Box::new(rejected()),
        Box::new(Arc::new(rejected())),
        Box::new(Box::new(rejected())),
        Box::new(io::Error::other(rejected())),
        Box::new(io::Error::other(io::Error::other(rejected()))),
        Box::new(Arc::new(io::Error::other(rejected()))),
        Box::new(ExecuteError::<io::Error>::Rejected(rejected())),
        Box::new(SubmitError::Rejected(rejected())),
        Box::new(JoinError::Rejected(rejected())),
    ];
    for error in errors {
        assert_eq!(rejection(&*error).map(Rejection::label), Some("payments"), "{error:?}");
    }
    assert_eq!(rejection(&io::Error::other("another")), None);
    assert_eq!(rejection(&ExecuteError::Operation(io::Error::other("another"))), None);
}

#[tokio::test]
async fn the_services_of_one_layer_share_the_bulkhead() {
    let payments = one_slot();
    let layer = BulkheadLayer::new(&payments);
    let (answer, request) = oneshot::channel();
    let mut first = layer.layer(manual()).oneshot(request).boxed();
    assert!(first.as_mut().now_or_never().is_none());
    let error = layer.clone().layer(manual()).oneshot(oneshot::channel().1).await.unwrap_err();
    assert_eq!(rejection(&*error).unwrap().label(), "payments");
    answer.send(7).unwrap();
    assert_eq!(first.await.unwrap(), 7);
    assert_eq!(payments.status().in_flight, 0);
}

#[tokio::test]
async fn a_request_costs_what_its_closure_says_and_may_be_exempt() {
    let units = Bulkhead::builder("units").capacity(10).build().unwrap();
    let _running = units.try_slot().unwrap();
    let layer = BulkheadLayer::new(&units).exempt(|&request| request == 0).cost(|&request: &u32| request as usize);
    let mut service = layer.layer(echo());
    assert_eq!(service.call(9).await.unwrap(), 9);
    assert_eq!(rejection(&*service.call(10).await.unwrap_err()).unwrap().cost(), 10);
    assert_eq!(service.call(0).await.unwrap(), 0);
    assert_eq!(units.status().totals.admitted, 2);
}

#[tokio::test]
async fn each_key_has_its_own_slots() {
    let tenants: Partitions<String> = Partitions::builder("tenants").parallelism(1).max_partitions(10).build().unwrap();
    let layer = BulkheadLayer::keyed(&tenants, |request: &(&'static str, u32)| request.0);
    let mut service = layer.layer(service_fn(|(_, answer): (&str, u32)| ready(Ok::<_, Infallible>(answer))));
    let _of_ann = tenants.key("ann").try_slot().unwrap();
    assert!(service.call(("ann", 1)).await.is_err());
    assert_eq!(service.call(("bob", 2)).await.unwrap(), 2);
}

#[tokio::test]
async fn a_request_is_of_the_class_that_the_layer_finds_in_it() {
    let builder = Partitions::builder("models").shared_capacity(2).class_headroom(Class::Background, 1);
    let models: Partitions<String> = builder.max_partitions(10).build().unwrap();
    let keyed = |models| BulkheadLayer::keyed(models, |_: &Class| "ann");
    let _running = models.key("bob").try_slot().unwrap();
    let answers = [keyed(&models).class(|&class| class), keyed(&models.class(Class::Background)), keyed(&models)];
    let [by_request, by_layer, normal] = answers.map(|layer| {
        let mut service = layer.layer(service_fn(|_| ready(Ok::<_, Infallible>(()))));
        async move {
            let background = service.call(Class::Background).await;
            (background.is_ok(), service.call(Class::Sheddable).await.is_ok())
        }
    });
    assert_eq!((by_request.await, by_layer.await, normal.await), ((false, true), (false, false), (true, true)));
    let rejected = models.class(Class::Background).partition("ann").unwrap().status().totals.saturated;
    assert_eq!((rejected, models.partition("ann").unwrap().status().totals.admitted), (3, 2));
}

#[tokio::test(start_paused = true)]
async fn a_request_waits_no_longer_than_its_limit_and_its_deadline() {
    let payments = Bulkhead::builder("payments").parallelism(1).waiting_room(10).build().unwrap();
    let _running = payments.try_slot().unwrap();
    let layer = BulkheadLayer::new(&payments)
        .wait_limit(|&request: &u32| (request == 1).then_some(Duration::from_millis(50)))
        .deadline_after(|&request| (request == 2).then_some(Duration::from_millis(20)));
    let mut service = layer.layer(echo());
    let limited = service.call(1).await.unwrap_err();
    assert_eq!(rejection(&*limited).unwrap().limit(), Some(Duration::from_millis(50)));
    let late = service.call(2).await.unwrap_err();
    assert!(rejection(&*late).unwrap().waited() <= Duration::from_millis(20));
}

#[tokio::test]
async fn a_task_that_tries_again_in_a_loop_lets_other_tasks_run() {
    let payments = one_slot();
    let running = payments.owned().try_slot().unwrap();
    tokio::spawn(async move { drop(running) });
    let mut service = BulkheadLayer::new(&payments).layer(echo());
    let mut rejected = 0;
    while service.call(7).await.is_err() {
        rejected += 1;
    }
    assert!((1..1000).contains(&rejected), "{rejected}");
}

/// Sends, when it is dropped, how many slots are taken.
struct Witness(Bulkhead, mpsc::Sender<usize>);

impl Drop for Witness {
    fn drop(&mut self) {
        self.1.send(self.0.status().in_flight).unwrap();
    }
}

#[tokio::test]
async fn the_services_future_and_the_request_are_dropped_before_the_slot_is_free() {
    let payments = one_slot();
    let (sender, dropped) = mpsc::channel();
    let request = || Witness(payments.clone(), sender.clone());
    let layer = BulkheadLayer::new(&payments);
    let answering =
        service_fn(|witness: Witness| poll_fn(move |_| Poll::Ready(Ok::<_, Infallible>(witness.1.clone()))));
    let pending =
        service_fn(|witness: Witness| async move { pending::<Result<(), Infallible>>().await.map(|()| drop(witness)) });
    // The first slot of a bulkhead is not one of the fast path, so each has two turns.
    for _ in 0..2 {
        drop(layer.layer(answering).oneshot(request()).await.unwrap());
        assert_eq!(dropped.try_recv(), Ok(1), "it answered");
        assert!(layer.layer(pending).oneshot(request()).now_or_never().is_none());
        assert_eq!(dropped.try_recv(), Ok(1), "it was dropped");
        assert!(layer.layer(Failing).oneshot(request()).await.is_err());
        assert_eq!(dropped.try_recv(), Ok(1), "it was not ready");
        assert_eq!(payments.status().in_flight, 0);
    }
}

/// A service that fails before it is ready.
#[derive(Clone)]
struct Failing;

impl Service<Witness> for Failing {
    type Response = ();
    type Error = io::Error;
    type Future = Ready<io::Result<()>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Err(io::Error::other("not ready")))
    }

    fn call(&mut self, _: Witness) -> Self::Future {
        unreachable!("it is not ready")
    }
}
