//! Upstreams that ask for a pause, and that are slow to stream.

use std::convert::Infallible;
use std::future::{Future, ready};
use std::time::Duration;

use bulklink::testing::{Executor, FakeClock, FakeRuntime};
use bulklink::{Bulkhead, Reason};
use bulklink_tower::BulkheadLayer;
use bulklink_tower::http::{PauseLayer, StreamLimitLayer, StreamTimedOut};
use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, Collected, StreamBody};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tower::{Layer, Service, ServiceExt, service_fn};

type Sent = Response<Bytes>;

fn answer(status: u16, header: Option<(&str, &str)>) -> Sent {
    let response = Response::builder().status(status);
    header.into_iter().fold(response, |response, (name, value)| response.header(name, value)).body("".into()).unwrap()
}

fn bulkhead(executor: &Executor) -> Bulkhead<FakeRuntime> {
    Bulkhead::builder_on(executor.runtime(), "model").parallelism(2).waiting_room(2).build().unwrap()
}

/// A client whose upstream answers with the request.
fn client(pause: &PauseLayer<FakeRuntime>) -> impl Service<Sent, Response = Sent, Error = Infallible> + Clone + use<> {
    pause.layer(service_fn(|answer: Sent| ready(Ok(answer))))
}

#[test]
fn an_upstream_that_asks_for_it_gets_no_call_until_the_pause_is_over() {
    let mut executor = Executor::new(FakeClock::new());
    let model = bulkhead(&executor);
    let client = client(&PauseLayer::new(&model, executor.runtime()));
    let refused = executor.block_on(client.clone().oneshot(answer(429, Some(("retry-after", "2"))))).unwrap();
    assert_eq!(refused.status(), 429, "it is passed on");
    let rejection = model.try_slot().unwrap_err();
    let restriction = rejection.restriction().expect("it is paused");
    assert_eq!((rejection.reason(), restriction.by, restriction.units), (Reason::Saturated, "retry-after", 0));
    let waiting = executor.spawn(model.owned().slot());
    executor.advance(Duration::from_millis(1_999));
    assert!(!waiting.is_finished());
    executor.advance(Duration::from_millis(1));
    assert!(waiting.output().expect("the pause is over").is_ok());
    drop(model.try_slot().unwrap());
}

#[test]
fn only_a_refusal_with_a_time_pauses_and_the_longest_counts() {
    let mut executor = Executor::new(FakeClock::new());
    let model = bulkhead(&executor);
    let client = client(&PauseLayer::new(&model, executor.runtime()).at_most(Duration::from_secs(10)));
    let call = |executor: &mut Executor, response| executor.block_on(client.clone().oneshot(response)).unwrap();
    for (status, header) in [
        (200, Some(("retry-after", "2"))),
        (500, Some(("retry-after", "2"))),
        (429, None),
        (503, Some(("retry-after", "soon"))),
        (503, Some(("retry-after", "0"))),
        (429, Some(("retry-after", "Sun, 09 Sep 2001 01:46:30 GMT"))),
    ] {
        call(&mut executor, answer(status, header));
        drop(model.try_slot().unwrap_or_else(|rejection| panic!("{status}: {rejection}")));
    }
    for (seconds, then, is_paused) in [
        ("4", 3, true),
        // Three seconds more, and then a shorter one.
        ("4", 0, true),
        ("1", 3, true),
        ("1", 1, false),
        ("3600", 9, true),
        ("0", 1, false),
    ] {
        call(&mut executor, answer(503, Some(("retry-after", seconds))));
        executor.advance(Duration::from_secs(then));
        assert_eq!(model.try_slot().is_err(), is_paused, "{seconds}, {then}");
    }
}

#[test]
fn a_pause_ends_with_the_layer_and_needs_a_runtime() {
    let mut executor = Executor::new(FakeClock::new());
    let model = bulkhead(&executor);
    let layer = PauseLayer::new(&model, executor.runtime());
    let service = client(&layer);
    executor.block_on(service.clone().oneshot(answer(429, Some(("retry-after", "9"))))).unwrap();
    drop((layer, service));
    assert!(model.try_slot().is_ok());

    let layer = PauseLayer::new(&model, executor.runtime());
    let service = client(&layer);
    executor.block_on(service.clone().oneshot(answer(429, Some(("retry-after", "9"))))).unwrap();
    assert!(model.try_slot().is_err());
    // It drops its tasks, and has no room for new ones.
    drop(executor);
    assert!(model.try_slot().is_ok());
    let mut other = Executor::new(FakeClock::new());
    other.block_on(service.oneshot(answer(429, Some(("retry-after", "9"))))).unwrap();
    assert!(model.try_slot().is_ok());
}

/// A stream, with the sender of its frames.
type Chunks = StreamBody<stream::BoxStream<'static, Result<Frame<Bytes>, Infallible>>>;

/// A service that streams the body of the request.
fn echo() -> impl Service<
    Request<Chunks>,
    Response = Response<Chunks>,
    Error = Infallible,
    Future: Future<Output = Result<Response<Chunks>, Infallible>>,
> + Clone {
    service_fn(|request: Request<Chunks>| ready(Ok(Response::new(request.into_body()))))
}

fn chunks() -> (UnboundedSender<&'static str>, Chunks) {
    let (sender, mut receiver) = unbounded_channel::<&'static str>();
    let frames = stream::poll_fn(move |context| {
        receiver.poll_recv(context).map(|text| text.map(|text| Ok(Frame::data(Bytes::from(text)))))
    });
    (sender, StreamBody::new(Box::pin(frames)))
}

#[test]
fn a_stream_ends_if_its_first_frame_is_late_or_it_falls_silent() {
    for (times, error) in [
        (&[9, 4, 4, 4][..], None),
        (&[11], Some("the stream has not begun in time")),
        (&[9, 4, 6], Some("the stream was silent for too long")),
    ] {
        let mut executor = Executor::new(FakeClock::new());
        let model = bulkhead(&executor);
        let limits = StreamLimitLayer::new(executor.runtime());
        let limits = limits.first(Duration::from_secs(10)).silence(Duration::from_secs(5));
        let (sender, body) = chunks();
        let service = limits.layer(echo());
        let service = BulkheadLayer::new(&model).respond().layer(service);
        let response = executor.block_on(service.oneshot(Request::new(body))).unwrap();
        let read = executor.spawn(async move { response.into_body().collect().await.map(Collected::to_bytes) });
        for time in times {
            executor.advance(Duration::from_secs(*time));
            _ = sender.send("x");
        }
        if let Some(error) = error {
            executor.run_until_idle();
            assert_eq!(model.status().in_flight, 0, "its slot is free");
            let found = read.output().expect("it has ended").unwrap_err();
            assert_eq!(found.to_string(), error);
            assert!(found.is::<StreamTimedOut>());
        } else {
            assert_eq!(model.status().in_flight, 1);
            drop(sender);
            executor.run_until_idle();
            assert_eq!(read.output().expect("it has ended").unwrap(), "xxxx");
        }
    }
}

#[test]
fn a_stream_ends_at_the_deadline_of_its_request() {
    let mut executor = Executor::new(FakeClock::new());
    let model = bulkhead(&executor);
    let (sender, body) = chunks();
    let service = StreamLimitLayer::new(executor.runtime()).layer(echo());
    let limit = BulkheadLayer::new(&model).deadline_after(|_| Some(Duration::from_secs(3))).respond();
    let response = executor.block_on(limit.layer(service).oneshot(Request::new(body))).unwrap();
    let read = executor.spawn(async move { response.into_body().collect().await.map(Collected::to_bytes) });
    for _ in 0..2 {
        executor.advance(Duration::from_secs(1));
        sender.send("x").unwrap();
    }
    executor.run_until_idle();
    assert!(!read.is_finished());
    executor.advance(Duration::from_secs(1));
    let error = read.output().expect("the deadline has passed").unwrap_err();
    assert_eq!(error.to_string(), "the stream has not ended by the deadline of its request");
}

#[test]
fn a_stream_that_is_always_ready_ends_at_the_deadline_and_stays_so() {
    let mut executor = Executor::new(FakeClock::new());
    let model = bulkhead(&executor);
    let (sender, body) = chunks();
    let service = StreamLimitLayer::new(executor.runtime()).layer(echo());
    let limit = BulkheadLayer::new(&model).deadline_after(|_| Some(Duration::from_secs(3))).respond();
    let mut response = executor.block_on(limit.layer(service).oneshot(Request::new(body))).unwrap();
    for (time, is_frame) in [(1, Some(true)), (1, Some(true)), (1, Some(false)), (1, None)] {
        executor.advance(Duration::from_secs(time));
        _ = sender.send("x");
        response = executor.block_on(async move {
            assert_eq!(response.frame().await.map(|frame| frame.is_ok()), is_frame);
            response
        });
    }
    assert!(http_body::Body::is_end_stream(response.body()));
}

/// A server asks for no frame while it cannot send.
#[test]
fn a_reader_that_is_slow_is_no_silence() {
    let mut executor = Executor::new(FakeClock::new());
    let (sender, body) = chunks();
    let layer = StreamLimitLayer::new(executor.runtime()).silence(Duration::from_secs(5));
    let service = layer.layer(echo());
    let mut response = executor.block_on(service.oneshot(Request::new(body))).unwrap();
    for _ in 0..3 {
        executor.advance(Duration::from_secs(60));
        sender.send("x").unwrap();
        response = executor.block_on(async move {
            assert_eq!(response.frame().await.unwrap().unwrap().into_data().unwrap(), "x");
            response
        });
    }
}
