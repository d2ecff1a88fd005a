//! Calls that end with the body of their response.

use std::io;
use std::task::Poll;
use std::time::Duration;

use bulklink::runtime::{Clock, Timer};
use bulklink::testing::{Executor, FakeClock, FakeRuntime};
use bulklink::{Bulkhead, Reason};
use bulklink_breaker::{Breaker, ByHttpStatus, Guard, OpenCircuit, Settings, State};
use bulklink_tower::{BreakerLayer, BulkheadLayer, GuardLayer, rejection};
use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt, StreamExt};
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tower::{Service, ServiceExt, service_fn};

type Chunk = Result<Frame<Bytes>, io::Error>;
type Stream = StreamBody<BoxStream<'static, Chunk>>;

/// How the body is made, and what the caller does with it.
#[derive(Clone, Copy, Debug)]
enum End {
    Read,
    Cut,
    Dropped,
}

fn guard(executor: &Executor, counts_cancelled: bool) -> Guard<FakeRuntime, ByHttpStatus> {
    let bulkhead = Bulkhead::builder_on(executor.runtime(), "test").parallelism(1).build().unwrap();
    let settings = Settings::consecutive(1).cool_down(Duration::from_millis(10));
    let builder = Guard::builder(&bulkhead).settings(settings).count_cancelled(counts_cancelled);
    builder.classify(ByHttpStatus::new()).build().unwrap()
}

/// Opens the circuit, and lets the cool-down pass.
fn half_open(executor: &mut Executor, breaker: &Breaker<impl Sized>) {
    breaker.admit().unwrap().fail();
    executor.advance(Duration::from_millis(10));
}

/// A service that answers each request with the body that it has.
fn upstream(
    status: u16,
) -> impl Service<Request<Stream>, Response = Response<Stream>, Error = io::Error, Future: Send> + Clone + Send + Sync {
    service_fn(move |request: Request<_>| async move {
        let response = Response::builder().status(status).body(request.into_body());
        Ok(response.expect("a valid status"))
    })
}

/// A request with a body, and its sender.
fn body() -> (UnboundedSender<Chunk>, Request<Stream>) {
    let (sender, mut receiver) = unbounded_channel();
    let stream = stream::poll_fn(move |context| receiver.poll_recv(context));
    (sender, Request::new(StreamBody::new(stream.boxed())))
}

/// Reads the next frame, which is there already, or the end.
fn frame<B: Body<Data = Bytes> + Unpin>(response: &mut Response<B>) -> Option<Result<Bytes, B::Error>> {
    let frame = response.frame().now_or_never().expect("it is there")?;
    Some(frame.map(|frame| frame.into_data().expect("no trailers")))
}

#[test]
fn slot_and_probe_are_held_until_the_body_has_ended() {
    for end in [End::Read, End::Cut, End::Dropped] {
        for counts_cancelled in [false, true] {
            let mut executor = Executor::new(FakeClock::new());
            let guard = guard(&executor, counts_cancelled);
            half_open(&mut executor, guard.breaker());
            let service = GuardLayer::new(&guard).hold_body().layer_on(upstream(200));
            let (sender, request) = body();
            let mut response = executor.block_on(service.clone().oneshot(request)).unwrap();
            sender.send(Ok(Frame::data("chunk".into()))).unwrap();
            assert_eq!(frame(&mut response).expect("a chunk").unwrap(), "chunk");
            // The head has come, and part of the body: the call goes on.
            assert_eq!((guard.status().active(), guard.breaker().status().circuit.probes), (1, 1));
            let second = executor.block_on(service.oneshot(body().1)).unwrap_err();
            assert!(second.is::<OpenCircuit>(), "one probe at once");
            let expected = match end {
                End::Read => {
                    drop(sender);
                    assert!(frame(&mut response).is_none());
                    State::Closed
                }
                End::Cut => {
                    sender.send(Err(io::ErrorKind::ConnectionReset.into())).unwrap();
                    assert!(frame(&mut response).expect("an error").is_err());
                    State::Open
                }
                End::Dropped => {
                    drop(response);
                    State::Closed
                }
            };
            assert_eq!(guard.breaker().status().circuit.state, expected, "{end:?}, {counts_cancelled}");
            assert_eq!(guard.status().active(), 0);
        }
    }
}

#[test]
fn a_head_that_is_no_success_ends_the_call_and_its_slot_is_held_on() {
    let mut executor = Executor::new(FakeClock::new());
    for (status, failures, ignored) in [(503, 1, 0), (429, 0, 1)] {
        let guard = guard(&executor, true);
        let service = GuardLayer::new(&guard).hold_body().layer_on(upstream(status));
        let (_sender, request) = body();
        let response = executor.block_on(service.oneshot(request)).unwrap();
        let status = guard.status();
        assert_eq!(
            (status.active(), status.breaker.totals.failures, status.breaker.totals.ignored),
            (1, failures, ignored)
        );
        drop(response);
        let status = guard.status();
        assert_eq!(
            (status.active(), status.breaker.totals.failures, status.breaker.totals.cancelled),
            (0, failures, 0)
        );
    }
}

/// The reader sets the pace of a body, and only the head says how fast the service is.
#[test]
fn a_call_is_slow_if_its_head_was_however_long_its_body_takes() {
    for (head, state) in [(999, State::Closed), (1000, State::Open)] {
        let mut executor = Executor::new(FakeClock::new());
        let settings = Settings::consecutive(5).slow_calls(Duration::from_secs(1), 1);
        let breaker = Breaker::builder_on(executor.clock(), "test").settings(settings).build().unwrap();
        let runtime = executor.runtime();
        let service = BreakerLayer::new(&breaker).respond().layer_on(service_fn(move |request: Request<_>| {
            let sleep = runtime.sleep_until(runtime.now() + Duration::from_millis(head));
            async move {
                sleep.await;
                Ok::<_, io::Error>(Response::new(request.into_body()))
            }
        }));
        let (sender, request) = body();
        let response = executor.spawn(service.oneshot(request));
        executor.advance(Duration::from_millis(head));
        let mut response = response.output().expect("the head has come").unwrap();
        executor.advance(Duration::from_secs(60));
        sender.send(Ok(Frame::data("chunk".into()))).unwrap();
        frame(&mut response).expect("a chunk").unwrap();
        drop(sender);
        assert!(frame(&mut response).is_none());
        let status = breaker.status();
        assert_eq!((status.circuit.state, status.totals.successes), (state, 1), "{head}");
    }
}

/// A server asks whether a body has ended, and drops it then without another poll.
#[test]
fn a_body_whose_last_frame_was_taken_has_ended() {
    let mut executor = Executor::new(FakeClock::new());
    let breaker = Breaker::builder_on(executor.clock(), "test").count_cancelled(true).build().unwrap();
    let layer = BreakerLayer::new(&breaker).respond();
    let empty = layer
        .clone()
        .layer_on(service_fn(async |_: Request<()>| Ok::<_, io::Error>(Response::new(Empty::<Bytes>::new()))));
    drop(executor.block_on(empty.oneshot(Request::new(()))).unwrap());
    assert_eq!((breaker.status().totals.successes, breaker.status().totals.failures), (1, 0));
    let full = layer
        .layer_on(service_fn(async |_: Request<()>| Ok::<_, io::Error>(Response::new(Full::<Bytes>::from("all")))));
    let mut response = executor.block_on(full.oneshot(Request::new(()))).unwrap();
    assert_eq!(breaker.status().totals.successes, 1);
    frame(&mut response).expect("a frame").unwrap();
    drop(response);
    assert_eq!((breaker.status().totals.successes, breaker.status().totals.failures), (2, 0));
}

/// A body that panics when it is polled is a failure, as a service that panics is.
#[test]
fn a_body_that_panics_is_a_failure() {
    let mut executor = Executor::new(FakeClock::new());
    let breaker = Breaker::builder_on(executor.clock(), "test").build().unwrap();
    let service = BreakerLayer::new(&breaker).hold_body().layer_on(service_fn(async |_: Request<()>| {
        let stream = stream::poll_fn(|_| -> Poll<Option<Chunk>> { panic!("it panicked") });
        Ok::<_, io::Error>(Response::new(StreamBody::new(stream)))
    }));
    let mut response = executor.block_on(service.oneshot(Request::new(()))).unwrap();
    let read = std::panic::AssertUnwindSafe(move || frame(&mut response).is_some());
    assert!(std::panic::catch_unwind(read).is_err());
    assert_eq!((breaker.status().totals.panicked, breaker.status().totals.successes), (1, 0));
}

#[test]
fn all_three_layers_hold_until_the_body_has_ended() {
    let mut executor = Executor::new(FakeClock::new());
    let (guard, breaker) = (guard(&executor, false), Breaker::builder_on(executor.clock(), "outer").build().unwrap());
    let bulkhead = Bulkhead::builder_on(executor.runtime(), "outer").parallelism(1).build().unwrap();
    let service = tower::ServiceBuilder::new()
        .layer(BreakerLayer::new(&breaker).hold_body())
        .layer(BulkheadLayer::new(&bulkhead).hold_body())
        .layer(GuardLayer::new(&guard).hold_body())
        .service(upstream(200));
    let (sender, request) = body();
    let response = executor.block_on(service.clone().oneshot(request)).unwrap();
    assert_eq!((bulkhead.status().in_flight, guard.status().active(), breaker.status().totals.ended()), (1, 1, 0));
    let error = executor.block_on(service.oneshot(body().1)).unwrap_err();
    assert_eq!(rejection(&*error).expect("one slot").reason(), Reason::Saturated);
    drop(sender);
    executor.block_on(response.collect()).unwrap();
    assert_eq!((bulkhead.status().in_flight, guard.status().active(), breaker.status().totals.successes), (0, 0, 1));
    assert_eq!(
        (breaker.status().totals.failures, breaker.status().totals.ignored),
        (0, 1),
        "a rejection counts for neither side"
    );
}

/// Puts a layer on a service, as `Layer::layer` does, for a chain of calls.
trait LayerOn {
    fn layer_on<S>(self, service: S) -> <Self as tower::Layer<S>>::Service
    where
        Self: tower::Layer<S> + Sized,
    {
        self.layer(service)
    }
}

impl<G, O> LayerOn for GuardLayer<G, O> {}

/// The layers of a client can be named.
#[cfg(feature = "reqwest")]
mod reqwest {
    use super::*;
    use bulklink_breaker::ByHttpStatus;
    use bulklink_tokio::{Bulkhead, Tokio};
    use bulklink_tower::BoxError;
    use bulklink_tower::http::HoldBody;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// Answers one connection with this text, and closes it.
    async fn serve(answer: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(connection.read_u8().await.unwrap());
                }
                connection.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        url
    }

    struct Client {
        guard: Guard<Tokio, ByHttpStatus>,
        layer: GuardLayer<Guard<Tokio, ByHttpStatus>, HoldBody>,
        breaker: Breaker<ByHttpStatus>,
    }

    fn client() -> Result<Client, BoxError> {
        let bulkhead = Bulkhead::builder("upstream").parallelism(1).build()?;
        let guard = Guard::builder(&bulkhead).classify(ByHttpStatus::new()).run_limit(Duration::from_secs(30));
        let guard = guard.build()?;
        let layer = GuardLayer::new(&guard).hold_body();
        let breaker = Breaker::builder_on(Tokio, "upstream").classify(ByHttpStatus::new()).build()?;
        Ok(Client { guard, layer, breaker })
    }

    #[tokio::test]
    async fn a_response_that_is_cut_is_a_failure() -> Result<(), BoxError> {
        let Client { guard, layer, breaker } = client()?;
        let url = serve("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\ncut").await;
        let bulkhead = Bulkhead::builder("outer").parallelism(1).build()?;
        let mut service = tower::ServiceBuilder::new()
            .layer(BulkheadLayer::new(&bulkhead).hold_body())
            .layer(BreakerLayer::new(&breaker).hold_body())
            .layer(layer)
            .service(::reqwest::Client::new());
        let response = service.call(::reqwest::Request::new(::http::Method::GET, url.parse()?)).await?;
        assert_eq!((guard.status().active(), guard.status().breaker.totals.ended()), (1, 0));
        assert!(response.bytes().await.is_err());
        assert_eq!((guard.status().breaker.totals.failures, breaker.status().totals.failures), (1, 1));
        assert_eq!((bulkhead.status().in_flight, guard.status().active()), (0, 0));
        Ok(())
    }

    #[tokio::test]
    async fn a_response_is_counted_by_its_status() -> Result<(), BoxError> {
        for (answer, counts) in [
            ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", [1, 0, 0]),
            ("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", [1, 0, 0]),
            ("HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n", [0, 1, 0]),
            ("HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n", [0, 0, 1]),
        ] {
            let Client { guard, layer, .. } = client()?;
            let url = serve(answer).await;
            let mut service = layer.layer_on(::reqwest::Client::new());
            let response = service.call(::reqwest::Request::new(::http::Method::GET, url.parse()?)).await?;
            response.bytes().await?;
            let counted = guard.status().breaker.totals;
            assert_eq!([counted.successes, counted.failures, counted.ignored], counts, "{answer}");
        }
        Ok(())
    }
}
