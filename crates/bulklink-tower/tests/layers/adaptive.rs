//! Layers set how their calls end, for the adaptive limit of their bulkhead.

use std::convert::Infallible;
use std::future::{Ready, pending, ready};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bulklink::limit::{Limit, Outcome, Sample};
use bulklink_breaker::Guard;
use bulklink_tokio::Bulkhead;
use bulklink_tower::{BackpressureLayer, BulkheadLayer, GuardLayer};
use bytes::Bytes;
use futures_util::{FutureExt, stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tower::{Layer, Service, ServiceExt, service_fn};

/// A limit that notes the outcomes.
#[derive(Clone, Default)]
struct Noted(Arc<Mutex<Vec<Outcome>>>);

impl Limit for Noted {
    fn sample(&mut self, sample: &Sample) {
        self.0.lock().unwrap().push(sample.outcome);
    }

    fn limit(&self) -> usize {
        2
    }

    fn bounds(&self) -> (usize, usize) {
        (2, 2)
    }
}

impl Noted {
    fn take(&self) -> Vec<Outcome> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn bulkhead() -> (Bulkhead, Noted) {
    let noted = Noted::default();
    (Bulkhead::builder("model").parallelism(2).adaptive(noted.clone()).build().unwrap(), noted)
}

fn answer(status: u16) -> Ready<Result<Response<String>, Infallible>> {
    ready(Ok(Response::builder().status(status).body(String::new()).unwrap()))
}

const STATUSES: [(u16, &[Outcome]); 8] = [
    (200, &[Outcome::Success]),
    (404, &[Outcome::Success]),
    (408, &[Outcome::Overload]),
    (429, &[Outcome::Overload]),
    (500, &[]),
    (502, &[]),
    (503, &[Outcome::Overload]),
    (504, &[Outcome::Overload]),
];

#[tokio::test]
async fn a_status_is_a_success_an_overload_or_ignored() {
    let (bulkhead, noted) = bulkhead();
    let upstream = service_fn(|request: Request<u16>| answer(*request.body()));
    let client = BulkheadLayer::new(&bulkhead).hold_body().layer(upstream);
    let server = BulkheadLayer::new(&bulkhead).respond().layer(upstream);
    let shared = BulkheadLayer::new(&bulkhead).respond().share_slot().layer(upstream);
    let guard = Guard::builder(&bulkhead).build().unwrap();
    let guarded = GuardLayer::new(&guard).hold_body().layer(upstream);
    let mut backpressure = BackpressureLayer::new(&bulkhead).hold_body().layer(upstream);
    for (status, expected) in STATUSES {
        drop(client.clone().oneshot(Request::new(status)).await.unwrap());
        assert_eq!(noted.take(), expected, "{status} to a client");
        drop(server.clone().oneshot(Request::new(status)).await.unwrap());
        assert_eq!(noted.take(), expected, "{status} of a server");
        drop(shared.clone().oneshot(Request::new(status)).await.unwrap());
        assert_eq!(noted.take(), expected, "{status} in a shared slot");
        drop(guarded.clone().oneshot(Request::new(status)).await.unwrap());
        assert_eq!(noted.take(), expected, "{status} behind a guard");
        drop(backpressure.ready().await.unwrap().call(Request::new(status)).await.unwrap());
        assert_eq!(noted.take(), expected, "{status} under backpressure");
    }
}

#[tokio::test]
async fn an_error_is_ignored_unless_it_is_a_timeout() {
    let (bulkhead, noted) = bulkhead();
    let failing = service_fn(|kind: io::ErrorKind| ready(Err::<(), _>(io::Error::from(kind))));
    let service = BulkheadLayer::new(&bulkhead).layer(failing);
    service.clone().oneshot(io::ErrorKind::ConnectionRefused).await.unwrap_err();
    assert_eq!(noted.take(), []);
    service.clone().oneshot(io::ErrorKind::TimedOut).await.unwrap_err();
    assert_eq!(noted.take(), [Outcome::Overload]);
    let working = BulkheadLayer::new(&bulkhead).layer(service_fn(|()| ready(Ok::<_, io::Error>(()))));
    working.oneshot(()).await.unwrap();
    assert_eq!(noted.take(), [Outcome::Success]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_its_client_drops_is_ignored_and_one_at_its_deadline_is_an_overload() {
    let (bulkhead, noted) = bulkhead();
    let silent = service_fn(|_: Request<()>| pending::<Result<Response<String>, Infallible>>());
    let server = BulkheadLayer::new(&bulkhead).respond();
    let server = server.deadline_after(|_| Some(Duration::from_millis(100))).cancel_at_deadline().layer(silent);
    let mut dropped = Box::pin(server.clone().oneshot(Request::new(())));
    assert!((&mut dropped).now_or_never().is_none());
    drop(dropped);
    assert_eq!(noted.take(), []);
    let mut dropped = Box::pin(server.clone().oneshot(Request::new(())));
    assert!((&mut dropped).now_or_never().is_none());
    tokio::time::advance(Duration::from_millis(99)).await;
    drop(dropped);
    assert_eq!(noted.take(), [Outcome::Overload], "its client came to its own deadline a little before");
    assert_eq!(bulkhead.status().in_flight, 0);

    let late = server.oneshot(Request::new(())).await.unwrap();
    assert_eq!(late.status(), 504);
    assert_eq!(noted.take(), [Outcome::Overload]);

    let guard = Guard::builder(&bulkhead).run_limit(Duration::from_millis(100)).build().unwrap();
    let guarded = GuardLayer::new(&guard).hold_body().layer(silent);
    guarded.oneshot(Request::new(())).await.unwrap_err();
    assert_eq!(noted.take(), [Outcome::Overload]);
}

#[tokio::test]
async fn a_reservation_without_an_answer_is_ignored() {
    let (bulkhead, noted) = bulkhead();
    let silent = service_fn(|_: Request<()>| pending::<Result<Response<String>, Infallible>>());
    let mut unused = BackpressureLayer::new(&bulkhead).hold_body().layer(silent);
    unused.ready().await.unwrap();
    drop(unused);
    assert_eq!(noted.take(), [], "no call used it");
    let mut service = BackpressureLayer::new(&bulkhead).hold_body().layer(silent);
    let mut dropped = Box::pin(service.ready().await.unwrap().call(Request::new(())));
    assert!((&mut dropped).now_or_never().is_none());
    drop(dropped);
    assert_eq!(noted.take(), [], "its client has gone");
    assert_eq!(bulkhead.status().in_flight, 0);
}

#[tokio::test]
async fn a_body_that_fails_is_ignored_and_one_that_ends_counts_as_its_head() {
    let (bulkhead, noted) = bulkhead();
    let streaming = service_fn(|fails: bool| {
        let end = if fails { Err(io::Error::other("cut")) } else { Ok(Frame::data(Bytes::new())) };
        let frames = stream::iter([Ok(Frame::data(Bytes::from_static(b"a"))), end]);
        ready(Ok::<_, Infallible>(Response::new(StreamBody::new(frames))))
    });
    let streaming = service_fn(move |request: Request<bool>| streaming.oneshot(*request.body()));
    let client = BulkheadLayer::new(&bulkhead).hold_body().layer(streaming);
    let response = client.clone().oneshot(Request::new(true)).await.unwrap();
    assert_eq!(noted.take(), [], "it is held");
    response.into_body().collect().await.map(|_| ()).unwrap_err();
    assert_eq!(noted.take(), []);
    client.oneshot(Request::new(false)).await.unwrap().into_body().collect().await.unwrap();
    assert_eq!(noted.take(), [Outcome::Success]);
}
