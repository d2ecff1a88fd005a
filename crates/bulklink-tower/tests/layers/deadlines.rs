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
    // A moment after it, and timers of tokio have a precision of a millisecond.
    assert_eq!(start.elapsed().as_millis() / 2, 41);
    assert_eq!((payments.status().in_flight, payments.status().ended_late), (0, 1));

    let (answer, request) = oneshot::channel();
    let mut patient = layer(&payments).layer(service).oneshot(request).boxed();
    assert!(tokio::time::timeout(2 * TIME, &mut patient).await.is_err());
    answer.send(7).unwrap();
    assert_eq!(patient.await.unwrap(), 7, "not cancelled by default");
}

/// As a client's timer does, which begins a little later than the layer's.
#[tokio::test(start_paused = true)]
async fn a_call_inside_that_ends_by_itself_at_the_same_deadline_is_not_cancelled() {
    let limit = layer(&one_slot()).cancel_at_deadline();
    for later in (0..10).map(|tenths| Duration::from_micros(100 * tenths)) {
        let service = limit.layer(service_fn(move |()| async move {
            tokio::time::sleep(TIME + later).await;
            Ok::<_, Infallible>(())
        }));
        assert!(service.oneshot(()).await.is_ok(), "{later:?} later");
        // Of the next request, all timers begin elsewhere between two ticks.
        tokio::time::advance(Duration::from_micros(137)).await;
    }
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

/// The deadline of a request of HTTP, from layer to layer, to the handler, and to the next service.
#[cfg(all(feature = "http", feature = "breaker"))]
mod travelling {
    use super::*;
    use bulklink_breaker::Guard;
    use bulklink_tower::http::TimeoutHeader;
    use bulklink_tower::{Deadline, GuardLayer};
    use bytes::Bytes;
    use http::{Request, Response};
    use http_body_util::Full;

    const MILLISECOND: Duration = Duration::from_millis(1);

    /// Answers with the deadline that the handler has, and the header.
    #[derive(Clone, Debug, Default)]
    struct Seen {
        left: Option<Duration>,
        header: Option<String>,
    }

    type Answer = Response<Full<Bytes>>;

    async fn look<B>(request: Request<B>) -> Result<Answer, Infallible> {
        let left = request.extensions().get::<Deadline>().map(Deadline::left);
        let header = request.headers().get("x-timeout-ms").map(|value| value.to_str().unwrap().to_owned());
        let mut response = Answer::default();
        response.extensions_mut().insert(Seen { left, header });
        Ok(response)
    }

    fn seen<B>(response: &Response<B>) -> Seen {
        response.extensions().get::<Seen>().expect("the handler was called").clone()
    }

    fn header() -> TimeoutHeader {
        TimeoutHeader::millis("x-timeout-ms").unwrap()
    }

    fn request(millis: &str) -> Request<()> {
        Request::builder().header("x-timeout-ms", millis).body(()).unwrap()
    }

    /// Occupies the only slot for this long.
    fn occupy(bulkhead: &Bulkhead, time: Duration) {
        let slot = bulkhead.owned().try_slot().unwrap();
        tokio::spawn(async move {
            tokio::time::sleep(time).await;
            drop(slot);
        });
    }

    #[tokio::test(start_paused = true)]
    async fn a_handler_has_the_time_that_the_wait_has_left() {
        let payments = one_slot();
        occupy(&payments, 30 * MILLISECOND);
        let service = BulkheadLayer::new(&payments).deadline_from(&header()).respond().layer(service_fn(look));
        let response = service.oneshot(request("80")).await.unwrap();
        let left = seen(&response).left.expect("the layer has read it");
        assert!((45..=50).contains(&left.as_millis()), "{left:?}");
        drop(response);
        let service = BulkheadLayer::new(&payments).deadline_from(&header()).respond().layer(service_fn(look));
        assert_eq!(seen(&service.oneshot(Request::new(())).await.unwrap()).left, None);
    }

    #[tokio::test(start_paused = true)]
    async fn layers_inside_keep_the_deadline_of_one_outside_without_one_of_their_own() {
        for is_guard in [false, true] {
            let (outer, inner) = (one_slot(), one_slot());
            occupy(&inner, 10 * TIME);
            let outer = BulkheadLayer::new(&outer).deadline_from(&header()).respond();
            let begun = tokio::time::Instant::now();
            let response = if is_guard {
                let guard = Guard::builder(&inner).build().unwrap();
                let inner = GuardLayer::new(&guard).respond().layer(service_fn(look));
                outer.layer(inner).oneshot(request("80")).await.unwrap().status()
            } else {
                let inner = BulkheadLayer::new(&inner).respond().layer(service_fn(look));
                outer.layer(inner).oneshot(request("80")).await.unwrap().status()
            };
            assert_eq!(response, http::StatusCode::GATEWAY_TIMEOUT, "{is_guard}");
            assert!(begun.elapsed() <= TIME, "{:?}", begun.elapsed());
        }
    }

    #[tokio::test]
    async fn an_invalid_header_counts_once_in_all_layers_and_once_for_each_name() {
        let (timeout, other) = (header(), TimeoutHeader::millis("x-other").unwrap());
        let layer = |header: &TimeoutHeader| BulkheadLayer::new(&one_slot()).deadline_from(header).respond();
        let inside = layer(&timeout).layer(service_fn(look));
        let service = layer(&timeout).layer(layer(&other).layer(layer(&timeout).layer(inside)));
        let mut request = request("soon");
        request.headers_mut().insert("x-other", "later".parse().unwrap());
        for number in 1..=3 {
            let response = service.clone().oneshot(request.clone()).await.unwrap();
            assert!(response.status().is_success());
            assert_eq!((timeout.invalid(), other.invalid()), (number, number));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_writes_the_time_that_is_left_when_it_sends() {
        let upstream = one_slot();
        let layer = BulkheadLayer::new(&upstream).hold_body().forward_deadline(&header(), 20 * MILLISECOND);
        for (time, wait, expected) in [(100, 0, 79..=80), (100, 30, 45..=50), (10, 0, 0..=0)] {
            if wait > 0 {
                occupy(&upstream, wait * MILLISECOND);
            }
            let service = BulkheadLayer::new(&one_slot()).deadline_after(move |_| Some(time * MILLISECOND)).hold_body();
            let service = service.layer(layer.layer(service_fn(look)));
            let response = service.oneshot(Request::new(())).await.unwrap();
            let written = seen(&response).header.expect("it was written").parse::<u32>().unwrap();
            assert!(expected.contains(&written), "{written} of {expected:?}");
        }
        let response = layer.layer(service_fn(look)).oneshot(request("7")).await.unwrap();
        assert_eq!(seen(&response).header.as_deref(), Some("7"), "no deadline, no change");
    }

    #[tokio::test(start_paused = true)]
    async fn a_guard_writes_the_time_that_is_left_too() {
        let guard = Guard::builder(&one_slot()).build().unwrap();
        let inner = GuardLayer::new(&guard).hold_body().forward_deadline(&header(), 20 * MILLISECOND);
        let outer = BulkheadLayer::new(&one_slot()).deadline_from(&header()).hold_body();
        let response = outer.layer(inner.layer(service_fn(look))).oneshot(request("100")).await.unwrap();
        assert_eq!(seen(&response).header.as_deref(), Some("80"));
        assert!(seen(&response).left.is_some());
    }

    /// As below a `HandleErrorLayer`.
    #[tokio::test(start_paused = true)]
    async fn a_layer_whose_rejections_are_errors_leaves_and_takes_over_the_deadline_of_a_header() {
        let inner = one_slot();
        occupy(&inner, 10 * TIME);
        let outer = BulkheadLayer::new(&one_slot()).deadline_from(&header());
        let late = BulkheadLayer::new(&inner).deadline_from(&header().or(10 * TIME));
        let service = outer.layer(late.layer(service_fn(look)));
        let mut other = request("80");
        other.headers_mut().insert("x-timeout-ms", "80".parse().unwrap());
        let error = service.oneshot(other).await.unwrap_err();
        assert!(rejection(&*error).expect("no slot in time").is_by_deadline());
        let outer = BulkheadLayer::new(&one_slot()).deadline_from(&header());
        let response = outer.layer(service_fn(look)).oneshot(request("80")).await.unwrap();
        assert!(seen(&response).left.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_deadline_of_another_runtime_counts_too() {
        let (outer, inner) = (one_slot(), bulklink::Bulkhead::builder_on(Early, "early").parallelism(1));
        let inner = BulkheadLayer::new(&inner.build().unwrap()).deadline_after(|_| Some(10 * TIME)).respond();
        let outer = BulkheadLayer::new(&outer).deadline_from(&header()).respond();
        let response = outer.layer(inner.layer(service_fn(look))).oneshot(request("80")).await.unwrap();
        assert!(seen(&response).left.expect("it has one") <= TIME);
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_of_the_calls_own_is_kept_under_a_deadline() {
        let inner = one_slot();
        occupy(&inner, 10 * TIME);
        let outer = BulkheadLayer::new(&one_slot()).deadline_after(|_| Some(5 * TIME)).respond();
        let soon = |_: &Request<()>, call: bulklink_tokio::Request| {
            call.before(tokio::time::Instant::now() + 10 * MILLISECOND)
        };
        let inner = BulkheadLayer::new(&inner).request(soon).respond();
        let begun = tokio::time::Instant::now();
        let response = outer.layer(inner.layer(service_fn(look))).oneshot(Request::new(())).await.unwrap();
        assert_eq!((response.status().as_u16(), begun.elapsed() < TIME), (503, true));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_is_exempt_has_the_deadline_of_its_own_layer() {
        let layer = BulkheadLayer::new(&one_slot()).exempt(|_| true).deadline_from(&header().or(TIME)).respond();
        for (request, most) in [(request("40"), TIME / 2), (Request::new(()), TIME)] {
            let response = layer.layer(service_fn(look)).oneshot(request).await.unwrap();
            assert!(seen(&response).left.expect("it has one") <= most);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_is_exempt_keeps_the_deadline_of_a_layer_outside() {
        let outer = BulkheadLayer::new(&one_slot()).deadline_from(&header()).hold_body();
        let inner = BulkheadLayer::new(&one_slot()).exempt(|_| true).hold_body();
        let inner = inner.forward_deadline(&header(), Duration::ZERO);
        let response = outer.layer(inner.layer(service_fn(look))).oneshot(request("100")).await.unwrap();
        assert_eq!(seen(&response).header.as_deref(), Some("100"));
    }

    #[cfg(feature = "reqwest")]
    #[tokio::test(start_paused = true)]
    async fn a_request_of_a_client_takes_the_deadline_over_unless_its_own_is_earlier() {
        let limit = BulkheadLayer::new(&one_slot()).deadline_after(|_| Some(100 * MILLISECOND)).hold_body();
        let service = limit.layer(service_fn(|request: Request<()>| async move {
            let deadline = request.extensions().get::<Deadline>().expect("the layer has left it");
            let url: reqwest::Url = "http://localhost".parse().unwrap();
            for (own, expected) in [(None, 100), (Some(30), 30), (Some(300), 100)] {
                let mut request = reqwest::Request::new(http::Method::GET, url.clone());
                *request.timeout_mut() = own.map(|own| own * MILLISECOND);
                let timeout = *deadline.attach(request).timeout().expect("it is attached");
                assert_eq!(timeout, expected * MILLISECOND, "{own:?}");
            }
            let attached = deadline.attach(Request::new(()));
            assert_eq!(attached.extensions().get::<Deadline>().map(Deadline::left), Some(100 * MILLISECOND));
            Ok::<_, Infallible>(Answer::default())
        }));
        service.oneshot(Request::new(())).await.unwrap();
    }

    /// The timeout of a request of reqwest is that of the whole call, with its wait.
    #[cfg(feature = "reqwest")]
    #[tokio::test(start_paused = true)]
    async fn the_timeout_of_a_request_of_reqwest_is_its_deadline() -> Result<(), bulklink_tower::BoxError> {
        let upstream = one_slot();
        let layer = BulkheadLayer::new(&upstream).hold_body().forward_deadline(&header(), 20 * MILLISECOND);
        let service = layer.layer(service_fn(|request: reqwest::Request| async move {
            let header = request.headers().get("x-timeout-ms").map(|value| value.to_str().unwrap().to_owned());
            let mut response = Answer::default();
            response.extensions_mut().insert(Seen { left: request.timeout().copied(), header });
            Ok::<_, Infallible>(reqwest::Response::from(response.map(|_| "")))
        }));
        let get = |time: u32| {
            let mut request = reqwest::Request::new(http::Method::GET, "http://localhost".parse().unwrap());
            *request.timeout_mut() = Some(time * MILLISECOND);
            request
        };
        occupy(&upstream, 30 * MILLISECOND);
        let response = service.clone().oneshot(get(100)).await?;
        let Seen { left, header } = response.extensions().get::<Seen>().expect("it was sent").clone();
        assert!((65..=70).contains(&left.expect("it has a timeout").as_millis()), "{left:?}");
        assert!((45..=50).contains(&header.expect("it was written").parse::<u32>()?));
        drop(response);
        occupy(&upstream, 10 * TIME);
        let error = service.oneshot(get(80)).await.unwrap_err();
        assert!(rejection(&*error).expect("no slot in time").is_by_deadline());
        Ok(())
    }

    #[cfg(feature = "axum")]
    #[tokio::test]
    async fn a_handler_of_axum_extracts_it() {
        use axum::Router;
        use axum::body::Body;
        use axum::routing::get;
        use http::StatusCode;

        let has = async |deadline: Deadline| format!("{}", deadline.left() <= TIME);
        let may_have = async |deadline: Option<Deadline>| format!("{}", deadline.is_some());
        let limit = |header: TimeoutHeader| BulkheadLayer::new(&one_slot()).deadline_from(&header).respond();
        let app = Router::new()
            .route("/has", get(has).layer(limit(header().or(TIME))))
            .route("/may", get(may_have).layer(limit(header())))
            .route("/none", get(has));
        for (path, status, text) in [
            ("/has", StatusCode::OK, "true"),
            ("/may", StatusCode::OK, "false"),
            ("/none", StatusCode::INTERNAL_SERVER_ERROR, "The request has no deadline: no layer"),
        ] {
            let request = Request::builder().uri(path).body(Body::empty()).unwrap();
            let response = app.clone().oneshot(request).await.unwrap();
            assert_eq!(response.status(), status);
            let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
            assert!(body.starts_with(text.as_bytes()), "{path}: {body:?}");
        }
    }
}
