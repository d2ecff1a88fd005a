//! Requests that are cancelled at their deadline.

use std::convert::Infallible;
use std::future::{Ready, pending, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bulklink::runtime::{Clock, Instant, Timer};
use bulklink_tokio::{Bulkhead, Reason};
use bulklink_tower::{BulkheadLayer, DeadlinePassed, rejection};
use futures_util::FutureExt;
use tokio::sync::oneshot;
use tower::{Layer, Service, ServiceExt, service_fn};

const TIME: Duration = Duration::from_millis(80);

fn one_slot() -> Bulkhead {
    Bulkhead::builder("payments").parallelism(1).waiting_room(1).build().unwrap()
}

fn layer<Q>(bulkhead: &Bulkhead) -> BulkheadLayer<Q, bulklink_tokio::Tokio> {
    BulkheadLayer::new(bulkhead).deadline_after(|_| Some(TIME))
}

#[tokio::test(start_paused = true)]
async fn a_request_is_cancelled_at_its_deadline_and_gives_its_slot_back() {
    let payments = one_slot();
    let service = service_fn(|answer: oneshot::Receiver<u32>| answer);
    let start = tokio::time::Instant::now();
    let (_never, request) = oneshot::channel();
    let error = layer(&payments).cancel_at_deadline().layer(service).oneshot(request).await.unwrap_err();
    assert!(error.is::<DeadlinePassed>());
    assert_eq!(error.to_string(), "bulkhead payments: the request was cancelled at its deadline");
    // Timers of tokio have a precision of a millisecond.
    assert_eq!(start.elapsed().as_millis() / 2, 40);
    assert_eq!((payments.status().in_flight, payments.status().ended_late), (0, 1));

    let (answer, request) = oneshot::channel();
    let mut patient = layer(&payments).layer(service).oneshot(request).boxed();
    assert!(tokio::time::timeout(2 * TIME, &mut patient).await.is_err());
    answer.send(7).unwrap();
    assert_eq!(patient.await.unwrap(), 7, "not cancelled by default");
}

/// It uses up the budget of its task in each poll, as reading from a channel that is never empty
/// does.
#[tokio::test]
async fn a_request_that_is_always_busy_is_cancelled_at_its_deadline() {
    let payments = one_slot();
    let begun = std::time::Instant::now();
    let service = service_fn(|()| async {
        while begun.elapsed() < 25 * TIME {
            tokio::task::consume_budget().await;
        }
        Ok::<_, Infallible>(())
    });
    let error = layer(&payments).cancel_at_deadline().layer(service).oneshot(()).await.unwrap_err();
    assert!(error.is::<DeadlinePassed>());
    assert_eq!(payments.status().in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_waits_until_its_deadline_is_rejected_and_not_cancelled() {
    let payments = one_slot();
    let _running = payments.try_slot().unwrap();
    let service = service_fn(|request: u32| ready(Ok::<_, Infallible>(request)));
    let error = layer(&payments).cancel_at_deadline().layer(service).oneshot(7).await.unwrap_err();
    assert_eq!(rejection(&*error).unwrap().reason(), Reason::Expired);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_late_to_take_its_slot_begins_no_work() {
    let payments = one_slot();
    let running = payments.owned().try_slot().unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let mut service = layer(&payments).cancel_at_deadline().layer(service_fn({
        let calls = Arc::clone(&calls);
        move |request: u32| {
            calls.fetch_add(1, Ordering::Relaxed);
            ready(Ok::<_, Infallible>(request))
        }
    }));
    let mut request = service.call(7).boxed();
    assert!(request.as_mut().now_or_never().is_none());
    drop(running);
    tokio::time::advance(2 * TIME).await;
    assert!(request.await.unwrap_err().is::<DeadlinePassed>());
    assert_eq!((calls.load(Ordering::Relaxed), payments.status().in_flight), (0, 0));
}

/// A runtime with a clock that stands still, and timers that complete immediately.
#[derive(Clone)]
struct Early;

impl Clock for Early {
    type Instant = Instant;

    fn now(&self) -> Instant {
        Instant::from_nanos(1_000_000)
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }
}

impl Timer for Early {
    type Sleep = Ready<()>;

    fn sleep_until(&self, _: Instant) -> Ready<()> {
        ready(())
    }
}

#[test]
fn a_timer_that_completes_early_does_not_keep_the_poll_from_returning() {
    let payments = bulklink::Bulkhead::builder_on(Early, "payments").parallelism(1).build().unwrap();
    let mut service = BulkheadLayer::new(&payments)
        .deadline_after(|(): &()| Some(TIME))
        .cancel_at_deadline()
        .layer(service_fn(|()| pending::<Result<(), Infallible>>()));
    let mut request = service.call(()).boxed();
    assert!(matches!(request.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending));
}
