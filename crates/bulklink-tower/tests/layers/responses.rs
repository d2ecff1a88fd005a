//! Bodies that hold slots, and rejections as responses.

use std::convert::Infallible;
use std::future::{Future, ready};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bulklink_tokio::{Builder, Bulkhead, OwnedSlot, Partitions, Rejection, Tokio};
use bulklink_tower::BulkheadLayer;
use bulklink_tower::http::{HeldSlot, Respond, Responses};
use bytes::Bytes;
use futures_util::{FutureExt, stream};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use tower::{Layer, Service, service_fn};

use super::one_slot;

/// A body that is made of these frames.
type Frames = StreamBody<stream::Iter<std::vec::IntoIter<FrameOrError>>>;
type FrameOrError = Result<Frame<Bytes>, &'static str>;

fn data() -> Frame<Bytes> {
    Frame::data(Bytes::from_static(b"data"))
}

fn answering<B: Clone>(
    body: B,
) -> impl Service<
    Request<()>,
    Response = Response<B>,
    Error = Infallible,
    Future = impl Future<Output = Result<Response<B>, Infallible>>,
> + Clone {
    service_fn(move |_| ready(Ok(Response::new(body.clone()))))
}

fn frames(frames: Vec<FrameOrError>) -> Frames {
    StreamBody::new(stream::iter(frames))
}

fn layer(bulkhead: &Bulkhead) -> BulkheadLayer<Request<()>, bulklink_tokio::Tokio, Respond> {
    BulkheadLayer::new(bulkhead).respond()
}

fn service_of(
    body: Frames,
) -> impl Service<Request<()>, Response = Response<Frames>, Error = Infallible, Future: Unpin> + Clone {
    let body = std::sync::Arc::new(std::sync::Mutex::new(Some(body)));
    service_fn(move |_| ready(Ok(Response::new(body.lock().unwrap().take().expect("called once")))))
}

#[tokio::test]
async fn the_slot_is_held_until_the_body_has_ended() {
    let payments = one_slot();
    let trailers = HeaderMap::from_iter([(http::header::ETAG, "tag".parse().unwrap())]);
    let body = frames(vec![Ok(data()), Ok(Frame::trailers(trailers))]);
    let response = layer(&payments).layer(service_of(body)).call(Request::new(())).await.unwrap();
    let mut body = response.into_body();
    assert!(body.frame().await.unwrap().unwrap().is_data());
    assert_eq!(body.frame().await.unwrap().unwrap().into_trailers().unwrap()["etag"], "tag");
    assert_eq!(payments.status().in_flight, 1);
    assert!(body.frame().await.is_none());
    assert_eq!(payments.status().in_flight, 0);
    assert!(body.frame().await.is_none(), "polled again after the end");
    assert!(body.is_end_stream());
}

#[tokio::test]
async fn the_slot_is_held_until_the_body_is_dropped() {
    let payments = one_slot();
    let response = layer(&payments).layer(service_of(frames(vec![Ok(data())]))).call(Request::new(())).await.unwrap();
    assert_eq!(payments.status().in_flight, 1);
    drop(response);
    assert_eq!(payments.status().in_flight, 0);
}

#[tokio::test]
async fn a_body_that_fails_gives_its_slot_back() {
    let payments = one_slot();
    let body = frames(vec![Err("broken"), Ok(data())]);
    let response = layer(&payments).layer(service_of(body)).call(Request::new(())).await.unwrap();
    let mut body = response.into_body();
    assert_eq!(body.frame().await.unwrap().unwrap_err(), "broken");
    assert_eq!(payments.status().in_flight, 0);
}

#[tokio::test]
async fn an_empty_body_holds_nothing() {
    let payments = one_slot();
    let response = layer(&payments).layer(answering(Empty::<Bytes>::new())).call(Request::new(())).await.unwrap();
    assert!(response.body().is_end_stream());
    assert_eq!(payments.status().in_flight, 0);
}

#[tokio::test]
async fn the_size_hint_is_that_of_the_body() {
    let payments = one_slot();
    let body = Full::new(Bytes::from_static(b"1234"));
    let response = layer(&payments).layer(answering(body)).call(Request::new(())).await.unwrap();
    assert_eq!(response.body().size_hint().exact(), Some(4));
    assert!(!response.body().is_end_stream());
}

/// A body that records whether its slot was still taken when it was dropped.
struct DropsFirst(Bulkhead);

impl Body for DropsFirst {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(None)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

impl Drop for DropsFirst {
    fn drop(&mut self) {
        assert_eq!(self.0.status().in_flight, 1, "the slot is free before the body has ended");
    }
}

#[tokio::test]
async fn the_body_is_dropped_before_its_slot_is_free() {
    let payments = one_slot();
    let inside = payments.clone();
    let mut service = layer(&payments).layer(service_fn(move |_| {
        let body = DropsFirst(inside.clone());
        ready(Ok::<_, Infallible>(Response::new(body)))
    }));
    let mut ended = service.call(Request::new(())).await.unwrap().into_body();
    assert!(ended.frame().await.is_none());
    drop(service.call(Request::new(())).await.unwrap());
    assert_eq!(payments.status().in_flight, 0);
}

#[tokio::test]
async fn an_upgrade_holds_its_slot_for_as_long_as_the_service_does() {
    let payments = one_slot();
    let (sender, receiver) = std::sync::mpsc::channel();
    let mut service = layer(&payments).layer(service_fn(move |mut request: Request<()>| {
        sender.send(request.extensions_mut().remove::<HeldSlot>()).unwrap();
        ready(Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new())))
    }));
    let upgrade = Request::builder().header("upgrade", "websocket").body(()).unwrap();
    drop(service.call(upgrade).await.unwrap());
    let held = receiver.recv().unwrap().expect("the request asks for an upgrade");
    assert_eq!(payments.status().in_flight, 1);
    drop(held);
    assert_eq!(payments.status().in_flight, 0);
    drop(service.call(Request::new(())).await.unwrap());
    assert!(receiver.recv().unwrap().is_none(), "no upgrade");
}

#[tokio::test]
async fn a_client_finds_the_slots_of_all_layers_in_a_response_that_upgrades() {
    let websocket = Request::builder().header("upgrade", "websocket");
    let tunnel = Request::builder().method("CONNECT");
    for (request, status, is_held) in [
        (websocket, StatusCode::SWITCHING_PROTOCOLS, true),
        (tunnel, StatusCode::OK, true),
        (Request::builder().header("upgrade", "websocket"), StatusCode::OK, false),
        (Request::builder(), StatusCode::OK, false),
    ] {
        let bulkheads = [one_slot(), one_slot()];
        let service = service_fn(move |request: Request<()>| {
            drop(request);
            ready(Ok::<_, Infallible>(Response::builder().status(status).body(Empty::<Bytes>::new()).unwrap()))
        });
        let inner = BulkheadLayer::new(&bulkheads[1]).hold_body().layer(service);
        let mut outer = BulkheadLayer::new(&bulkheads[0]).hold_body().layer(inner);
        let mut response = outer.call(request.body(()).unwrap()).await.unwrap();
        let held = response.extensions_mut().remove::<HeldSlot>();
        drop(response);
        let in_flight = || bulkheads.each_ref().map(|bulkhead| bulkhead.status().in_flight);
        assert_eq!(in_flight(), [usize::from(is_held); 2]);
        drop(held);
        assert_eq!(in_flight(), [0, 0]);
    }
}

#[tokio::test]
async fn requests_without_room_for_their_key_are_not_the_fault_of_the_tenant() {
    let tenants: Partitions<String> = Partitions::builder("tenants").parallelism(1).max_partitions(1).build().unwrap();
    let _of_ann = tenants.key("ann").try_slot().unwrap();
    let responses = Responses::new().status(StatusCode::TOO_MANY_REQUESTS);
    let layer = BulkheadLayer::keyed(&tenants, |request: &Request<()>| request.uri().path()).respond_with(&responses);
    let response = layer.layer(answering(Empty::<Bytes>::new())).call(Request::new(())).await.unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(response.headers()["bulklink-rejected"], "partition_limit");
}

async fn rejected(bulkhead: &Bulkhead, request: Request<()>, responses: &Responses) -> (Response<()>, String) {
    let layer =
        BulkheadLayer::new(bulkhead).cost(|request: &Request<()>| request.uri().path().len()).respond_with(responses);
    let response = layer.layer(answering(Empty::<Bytes>::new())).call(request).await.unwrap();
    let (head, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (Response::from_parts(head, ()), String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn a_rejection_is_a_problem_with_reason_and_label() {
    let payments = Bulkhead::builder("\"payments\"").parallelism(1).build().unwrap();
    let _running = payments.try_slot().unwrap();
    let (response, body) = rejected(&payments, Request::new(()), &Responses::new()).await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    assert_eq!(response.headers()["bulklink-rejected"], "saturated");
    assert!(response.extensions().is_empty());
    let problem: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&problem["status"], &problem["reason"]), (&503.into(), &"saturated".into()));
    assert_eq!(problem["label"], "\"payments\"");
    let tenants = Responses::new().status(StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(rejected(&payments, Request::new(()), &tenants).await.0.status(), StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn a_response_can_have_its_rejection_among_its_extensions() {
    let payments = one_slot();
    let _running = payments.try_slot().unwrap();
    let (response, _) = rejected(&payments, Request::new(()), &Responses::new().attach_rejections()).await;
    assert_eq!(response.extensions().get::<Rejection>().unwrap().occupancy().in_use(), 1);
}

#[tokio::test]
async fn a_request_that_can_never_be_admitted_is_told_so() {
    let payments = one_slot();
    let large = Request::builder().uri("/long").body(()).unwrap();
    let (response, body) = rejected(&payments, large, &Responses::new()).await;
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert!(!response.headers().contains_key("retry-after"));
    let problem: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&problem["cost"], &problem["allowed"]), (&5.into(), &1.into()));
    assert_eq!(problem["detail"], "The request is too large. It costs 5, and at most 1 are allowed.");
    payments.close();
    let (response, _) = rejected(&payments, Request::new(()), &Responses::new().status(StatusCode::IM_A_TEAPOT)).await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(response.headers()["bulklink-rejected"], "closed");
}

#[tokio::test]
async fn a_request_of_grpc_is_answered_in_its_headers() {
    let payments = one_slot();
    let _running = payments.try_slot().unwrap();
    let request = Request::builder().header("content-type", "application/grpc+proto").body(()).unwrap();
    let (response, body) = rejected(&payments, request, &Responses::new()).await;
    assert_eq!((response.status(), &*body), (StatusCode::OK, ""));
    assert_eq!(response.headers()["content-type"], "application/grpc");
    assert_eq!(response.headers()["grpc-status"], "8");
    assert_eq!(response.headers()["grpc-message"], "payments: All slots are in use.");

    let odd = Bulkhead::builder("100 % é").parallelism(1).build().unwrap();
    odd.close();
    for content_type in ["application/grpc", "Application/GRPC;x", "application/grpc-web", "application/grpcish"] {
        let request = Request::builder().header("content-type", content_type).body(()).unwrap();
        let (response, _) = rejected(&odd, request, &Responses::new()).await;
        match response.headers().get("grpc-message") {
            Some(message) => assert_eq!(message, "100 %25 %C3%A9: The service is closing."),
            None => assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE),
        }
        let is_grpc = !content_type.ends_with("-web") && !content_type.ends_with("ish");
        assert_eq!(response.headers().contains_key("grpc-status"), is_grpc, "{content_type}");
    }
}

#[tokio::test]
async fn the_rejection_of_an_upstream_is_not_passed_on_as_one_of_this_service() {
    let payments = one_slot();
    let upstream = service_fn(|_: Request<()>| {
        let response = Response::builder().status(503).header("bulklink-rejected", "saturated");
        ready(Ok::<_, Infallible>(response.body(Empty::<Bytes>::new()).unwrap()))
    });
    let response = layer(&payments).layer(upstream).call(Request::new(())).await.unwrap();
    assert!(!response.headers().contains_key("bulklink-rejected"));

    let inner = one_slot();
    inner.close();
    let inside = layer(&inner).layer(upstream);
    let response = layer(&payments).layer(inside).call(Request::new(())).await.unwrap();
    assert_eq!(response.headers()["bulklink-rejected"], "closed", "of a layer inside");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_came_too_late_is_told_from_one_that_found_no_room() {
    let payments = Bulkhead::builder("payments").parallelism(1).waiting_room(5).build().unwrap();
    let _running = payments.try_slot().unwrap();
    let layer = BulkheadLayer::new(&payments)
        .deadline_after(|request: &Request<()>| match request.uri().path() {
            "/late" => Some(Duration::from_millis(20)),
            "/far" => Some(Duration::from_secs(60)),
            _ => None,
        })
        .wait_limit(|request| match request.uri().path() {
            "/now" | "/far" => Some(Duration::ZERO),
            _ => Some(Duration::from_millis(50)),
        })
        .request(|request, call| match request.uri().path() {
            "/own" => call.deadline_after(Duration::from_millis(20)),
            _ => call,
        });
    let mut service = layer.respond().layer(answering(Empty::<Bytes>::new()));
    let late = service.call(Request::builder().uri("/late").body(()).unwrap()).await.unwrap();
    assert_eq!(late.status(), StatusCode::GATEWAY_TIMEOUT);
    let own = service.call(Request::builder().uri("/own").body(()).unwrap()).await.unwrap();
    assert_eq!(own.status(), StatusCode::GATEWAY_TIMEOUT);
    let limited = service.call(Request::new(())).await.unwrap();
    assert_eq!(limited.status(), StatusCode::SERVICE_UNAVAILABLE);
    let far = Request::builder().uri("/far").body(()).unwrap();
    assert_eq!(service.call(far).await.unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
    let impatient = service.call(Request::builder().uri("/now").body(()).unwrap()).await.unwrap();
    assert_eq!(impatient.status(), StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn a_future_that_is_dropped_gives_up_its_place_and_its_slot() {
    let payments = Bulkhead::builder("payments").parallelism(1).waiting_room(1).build().unwrap();
    let mut service =
        layer(&payments).layer(service_fn(|_| std::future::pending::<Result<Response<Empty<Bytes>>, Infallible>>()));
    let mut running = service.call(Request::new(())).boxed();
    assert!(running.as_mut().now_or_never().is_none());
    let mut waiting = service.call(Request::new(())).boxed();
    assert!(waiting.as_mut().now_or_never().is_none());
    assert_eq!((payments.status().in_flight, payments.status().waiting), (1, 1));
    drop(waiting);
    drop(running);
    assert_eq!((payments.status().in_flight, payments.status().waiting), (0, 0));
    assert_eq!(payments.status().totals.finished, 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_cancelled_at_its_deadline_is_not_marked_as_rejected() {
    let payments = one_slot();
    let layer = layer(&payments).deadline_after(|_| Some(Duration::from_millis(80))).cancel_at_deadline();
    let mut service = layer.layer(service_fn(|_| std::future::pending::<Result<Response<Empty<Bytes>>, Infallible>>()));
    let response = service.call(Request::new(())).await.unwrap();
    assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
    assert!(!response.headers().contains_key("bulklink-rejected"));
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&body).unwrap()["reason"], "deadline_passed");
    let request = Request::builder().header("content-type", "application/grpc").body(()).unwrap();
    assert_eq!(service.call(request).await.unwrap().headers()["grpc-status"], "4");
    assert_eq!(payments.status().in_flight, 0);
}

/// A bulkhead whose one slot was given back once in a second, until now, and is taken.
async fn one_a_second(builder: Builder<Tokio>) -> (Bulkhead, OwnedSlot) {
    let payments = builder.build().unwrap();
    for _ in 0..3 {
        let _slot = payments.try_slot().unwrap();
        assert!(payments.try_slot().is_err());
        let _ = payments.estimated_wait(1);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let slot = payments.owned().try_slot().unwrap();
    (payments, slot)
}

#[tokio::test(start_paused = true)]
async fn rejected_clients_that_obey_retry_after_do_not_return_in_step() {
    let builder = Bulkhead::builder("payments").parallelism(1).waiting_room(9);
    let (payments, _running) = one_a_second(builder).await;
    let waiting: Vec<_> = (0..9).map(|_| payments.submit(async {}).unwrap()).collect();
    let mut service = layer(&payments).layer(answering(Empty::<Bytes>::new()));
    let mut returns = [0; 50];
    for _ in 0..1000 {
        let response = service.call(Request::new(())).await.unwrap();
        let seconds: usize = response.headers()["retry-after"].to_str().unwrap().parse().unwrap();
        returns[seconds] += 1;
    }
    drop(waiting);
    // Nine wait and this is the tenth, so it is at least ten seconds.
    assert_eq!(returns[..10].iter().sum::<usize>() + returns[21..].iter().sum::<usize>(), 0);
    let (peak, mean) = (*returns.iter().max().unwrap(), 1000 / 11);
    assert!(peak <= 2 * mean, "{returns:?}");
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_is_at_least_a_second_and_at_most_twice_the_ceiling() {
    let (payments, _running) = one_a_second(Bulkhead::builder("payments").parallelism(1).waiting_room(1)).await;
    let _waiting = payments.submit(std::future::pending::<()>()).unwrap();
    let retry_after = async |longest| {
        let responses = Responses::new().longest_retry_after(longest);
        let (response, _) = rejected(&payments, Request::new(()), &responses).await;
        response.headers()["retry-after"].to_str().unwrap().parse::<u64>().unwrap()
    };
    assert!((2..=4).contains(&retry_after(Duration::from_secs(60)).await));
    assert!((1..=2).contains(&retry_after(Duration::ZERO).await));
    assert!((2..=4).contains(&retry_after(Duration::MAX).await));
    let request = Request::builder().header("content-type", "application/grpc").body(()).unwrap();
    let (response, _) = rejected(&payments, request, &Responses::new()).await;
    let pushback: u64 = response.headers()["grpc-retry-pushback-ms"].to_str().unwrap().parse().unwrap();
    assert!((2000..5000).contains(&pushback));
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_grows_while_no_slot_is_given_back() {
    let (payments, _running) = one_a_second(Bulkhead::builder("payments").parallelism(1).waiting_room(1)).await;
    let _waiting = payments.submit(std::future::pending::<()>()).unwrap();
    let mut service = layer(&payments).layer(answering(Empty::<Bytes>::new()));
    let mut retry_after = async || {
        let response = service.call(Request::new(())).await.unwrap();
        response.headers()["retry-after"].to_str().unwrap().parse::<u64>().unwrap()
    };
    assert!((2..=4).contains(&retry_after().await));
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(retry_after().await > 4);
}

#[tokio::test(start_paused = true)]
async fn without_a_rate_and_after_a_close_retry_after_falls_back() {
    let payments = one_slot();
    let _running = payments.try_slot().unwrap();
    let retry_after = async |responses: &Responses| {
        let (response, _) = rejected(&payments, Request::new(()), responses).await;
        response.headers()["retry-after"].to_str().unwrap().parse::<u64>().unwrap()
    };
    let in_half_a_minute = Responses::new().retry_after_or(Duration::from_secs(30));
    for is_closed in [false, true] {
        if is_closed {
            payments.close();
        }
        assert!((1..=2).contains(&retry_after(&Responses::new()).await), "{is_closed}");
        assert!((30..=60).contains(&retry_after(&in_half_a_minute).await), "{is_closed}");
    }
}

/// As `respond` answers.
#[tokio::test(start_paused = true)]
async fn the_response_to_an_error_is_that_of_the_layer() {
    let payments = one_slot();
    let responses = Responses::new().status(StatusCode::TOO_MANY_REQUESTS);
    let grpc = Request::builder().header("content-type", "application/grpc").body(()).unwrap();
    let expects = async |rejection: Rejection, request: Request<()>| {
        let is_grpc = request.headers().contains_key("content-type");
        let error = std::io::Error::other(rejection);
        let made: Option<Response<Bytes>> = if is_grpc { responses.of_grpc(&error) } else { responses.of(&error) };
        let (made, body) = made.expect("it is a rejection").into_parts();
        let (response, text) = rejected(&payments, request, &responses).await;
        assert_eq!((made.status, &*body), (response.status(), text.as_bytes()));
        let without_time = |headers: &HeaderMap| {
            let mut headers = headers.clone();
            let times = ["retry-after", "grpc-retry-pushback-ms"].map(|name| headers.remove(name).is_some());
            (headers, times)
        };
        assert_eq!(without_time(&made.headers), without_time(response.headers()));
    };
    let running = payments.try_slot().unwrap();
    for request in [Request::new(()), grpc.clone()] {
        expects(payments.try_slot().unwrap_err(), request).await;
    }
    drop(running);
    let large = Request::builder().uri("/long").body(()).unwrap();
    expects(payments.with(bulklink_tokio::Request::new().cost(5)).try_slot().unwrap_err(), large).await;
    payments.close();
    for request in [Request::new(()), grpc] {
        expects(payments.try_slot().unwrap_err(), request).await;
    }
    let other = std::io::Error::other("failed");
    assert!(responses.of::<Bytes>(&other).is_none() && responses.of_grpc::<Bytes>(&other).is_none());
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_request_is_counted_from_the_outermost_layer() {
    let bulkhead = |label| Bulkhead::builder(label).parallelism(1).waiting_room(1).build().unwrap();
    let (outside, inside) = (bulkhead("outside"), bulkhead("inside"));
    let (of_outside, _of_inside) = (outside.owned().try_slot().unwrap(), inside.owned().try_slot().unwrap());
    let layer = |bulkhead| BulkheadLayer::new(bulkhead).deadline_after(|_: &Request<()>| Some(Duration::from_secs(1)));
    let inner = layer(&inside).respond().layer(answering(Empty::<Bytes>::new()));
    let mut service = layer(&outside).respond().layer(inner);
    let start = tokio::time::Instant::now();
    let request = tokio::spawn(service.call(Request::new(())));
    tokio::time::sleep(Duration::from_millis(500)).await;
    drop(of_outside);
    assert_eq!(request.await.unwrap().unwrap().status(), StatusCode::GATEWAY_TIMEOUT);
    assert!(start.elapsed() <= Duration::from_secs(1), "{:?}", start.elapsed());
}
