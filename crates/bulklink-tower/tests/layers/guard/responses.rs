//! Guards that answer requests which they do not let through.

use std::future::pending;
use std::io;
use std::time::Duration;

use bulklink::testing::{Executor, FakeClock, FakeRuntime};
use bulklink::{Bulkhead, Rejection};
use bulklink_breaker::{Breaker, Guard, OpenCircuit, Settings, TimedOut};
use bulklink_tower::http::{RemoteRejection, Responses};
use bulklink_tower::{BreakerLayer, BulkheadLayer, GuardLayer, rejection};
use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::{Layer, ServiceExt, service_fn};

fn guard(executor: &Executor) -> Guard<FakeRuntime> {
    let bulkhead = Bulkhead::builder_on(executor.runtime(), "orders").parallelism(1).build().unwrap();
    let settings = Settings::consecutive(2).cool_down(Duration::from_secs(8));
    Guard::builder(&bulkhead).settings(settings).run_limit(Duration::from_secs(2)).build().unwrap()
}

async fn serve(request: Request<&'static str>) -> Result<Response<Full<Bytes>>, io::Error> {
    match request.into_body() {
        "wait" => pending().await,
        "fail" => Err(io::Error::other("failed")),
        other => Ok(Response::new(other.into())),
    }
}

fn grpc() -> Request<&'static str> {
    Request::builder().header(header::CONTENT_TYPE, "application/grpc").body("hello").unwrap()
}

/// Returns the value of `Retry-After`.
fn retry_after<B>(response: &Response<B>) -> Option<u64> {
    Some(response.headers().get(header::RETRY_AFTER)?.to_str().unwrap().parse().unwrap())
}

#[test]
fn an_open_circuit_is_503_with_the_rest_of_the_cool_down() {
    let mut executor = Executor::new(FakeClock::new());
    let guard = guard(&executor);
    let service = GuardLayer::new(&guard).respond().layer(service_fn(serve));
    for _ in 0..2 {
        // The error is the service's own.
        let error: io::Error = executor.block_on(service.clone().oneshot(Request::new("fail"))).unwrap_err();
        assert_eq!(error.to_string(), "failed");
    }
    executor.advance(Duration::from_secs(3));
    for _ in 0..20 {
        let response = executor.block_on(service.clone().oneshot(Request::new("hello"))).unwrap();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!((5..=10).contains(&retry_after(&response).expect("it is known")));
        let remote = RemoteRejection::from_headers(response.headers()).expect("it is marked");
        assert_eq!(remote.reason_text(), "open_circuit");
        let body = executor.block_on(response.into_body().collect()).unwrap().to_bytes();
        let problem = json!({
            "title": "Not admitted",
            "status": 503,
            "detail": "The circuit is open.",
            "reason": "open_circuit",
            "label": "orders",
        });
        assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), problem);
    }
    let response = executor.block_on(service.oneshot(grpc())).unwrap();
    assert_eq!((response.status(), &response.headers()["grpc-status"]), (StatusCode::OK, &"14".parse().unwrap()));
    let pushback: u64 = response.headers()["grpc-retry-pushback-ms"].to_str().unwrap().parse().unwrap();
    assert!((5_000..=11_000).contains(&pushback));
}

#[test]
fn a_half_open_circuit_asks_to_come_soon_and_a_forced_one_says_nothing() {
    let mut executor = Executor::new(FakeClock::new());
    let breaker = Breaker::builder_on(executor.clock(), "orders").build().unwrap();
    let service = BreakerLayer::new(&breaker).respond().layer(service_fn(serve));
    breaker.force_open();
    let response = executor.block_on(service.clone().oneshot(Request::new("hello"))).unwrap();
    assert_eq!((response.status(), retry_after(&response)), (StatusCode::SERVICE_UNAVAILABLE, None));
    breaker.force_closed();
    for _ in 0..5 {
        breaker.admit().unwrap().fail();
    }
    executor.advance(Duration::from_secs(30));
    let _probe = breaker.admit().unwrap();
    let response = executor.block_on(service.oneshot(Request::new("hello"))).unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!((1..=2).contains(&retry_after(&response).expect("probes are short")));
}

#[test]
fn a_run_that_is_too_long_is_504_and_a_full_bulkhead_503() {
    let mut executor = Executor::new(FakeClock::new());
    let guard = guard(&executor);
    let responses = Responses::new().status(StatusCode::TOO_MANY_REQUESTS).attach_rejections();
    let service = GuardLayer::new(&guard).respond_with(&responses).layer(service_fn(serve));
    let late = executor.spawn(service.clone().oneshot(Request::new("wait")));
    executor.run_until_idle();
    let full = executor.block_on(service.clone().oneshot(Request::new("hello"))).unwrap();
    assert_eq!(full.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(full.extensions().get::<Rejection>().expect("it is attached").label(), "orders");
    executor.advance(Duration::from_secs(2));
    let late = late.output().expect("the limit has passed").unwrap();
    assert_eq!((late.status(), guard.status().active()), (StatusCode::GATEWAY_TIMEOUT, 0));
    assert!(late.headers().get("bulklink-rejected").is_none(), "the work has begun");
    assert_eq!(late.extensions().get::<TimedOut>().expect("it is attached").limit, Duration::from_secs(2));
    guard.breaker().force_open();
    let open = executor.block_on(service.oneshot(Request::new("hello"))).unwrap();
    assert_eq!(open.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(open.extensions().get::<OpenCircuit>().is_some());
}

/// The mark of an upstream is removed, and that of a guard inside stays.
#[test]
fn the_mark_of_a_guard_inside_stays() {
    let mut executor = Executor::new(FakeClock::new());
    let (inner, outer) = (guard(&executor), guard(&executor));
    let service = GuardLayer::new(&inner).respond().layer(service_fn(serve));
    let service = GuardLayer::new(&outer).respond().layer(service);
    inner.breaker().force_open();
    let response = executor.block_on(service.oneshot(Request::new("hello"))).unwrap();
    assert_eq!(response.headers()["bulklink-rejected"], "open_circuit");
    drop(response);
    let upstream = service_fn(async |_: Request<&'static str>| {
        let response = Response::builder().status(503).header("bulklink-rejected", "open_circuit");
        Ok::<_, io::Error>(response.body(Full::<Bytes>::default()).unwrap())
    });
    let service = GuardLayer::new(&outer).respond().layer(upstream);
    let response = executor.block_on(service.oneshot(Request::new("hello"))).unwrap();
    assert!(response.headers().get("bulklink-rejected").is_none());
}

/// A layer inside that rejects has not asked the dependency, whatever form its rejection has.
#[test]
fn a_rejection_inside_counts_for_neither_side_of_a_layer_that_responds() {
    let mut executor = Executor::new(FakeClock::new());
    let inner = guard(&executor);
    let _full = inner.bulkhead().try_slot().unwrap();
    let open = Breaker::builder_on(executor.clock(), "open").build().unwrap();
    open.force_open();
    let settings = Settings::consecutive(1).cool_down(Duration::from_secs(1));
    let breaker = Breaker::builder_on(executor.clock(), "outer").settings(settings).build().unwrap();
    let outer = BreakerLayer::new(&breaker).respond();
    let asked = |executor: &mut Executor, is_error: bool, ignored: u64| {
        let totals = breaker.status().totals;
        assert_eq!((totals.successes, totals.failures, totals.ignored), (0, 0, ignored), "{is_error}");
        executor.advance(Duration::from_secs(1));
    };
    let bulkhead = BulkheadLayer::new(inner.bulkhead());
    let rejects = outer.clone().layer(bulkhead.clone().layer(service_fn(serve)));
    let error = executor.block_on(rejects.oneshot(Request::new("hello"))).unwrap_err();
    assert!(rejection(&*error).is_some());
    asked(&mut executor, true, 1);
    let refuses = outer.clone().layer(BreakerLayer::new(&open).layer(service_fn(serve)));
    assert!(executor.block_on(refuses.oneshot(Request::new("hello"))).unwrap_err().is::<OpenCircuit>());
    asked(&mut executor, true, 2);
    let responds = outer.clone().layer(bulkhead.respond().layer(service_fn(serve)));
    let response = executor.block_on(responds.oneshot(Request::new("hello"))).unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    asked(&mut executor, false, 3);
    let responds = outer.layer(BreakerLayer::new(&open).respond().layer(service_fn(serve)));
    let response = executor.block_on(responds.oneshot(Request::new("hello"))).unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    asked(&mut executor, false, 4);
}

/// The error of a handler, as the layers answer.
#[cfg(feature = "axum")]
mod failures {
    use super::*;
    use axum::response::IntoResponse;
    use bulklink::runtime::{Clock, Timer};
    use bulklink_breaker::{Breaker, GuardError};
    use bulklink_tower::{BoxError, DeadlinePassed, Failure};
    use std::sync::{Arc, Mutex};

    fn handled(error: impl Into<Failure>) -> Response<axum::body::Body> {
        let handler = || -> Result<&'static str, Failure> { Err(error.into()) };
        handler().into_response()
    }

    fn reason(executor: &mut Executor, response: Response<axum::body::Body>) -> Value {
        assert_eq!(response.headers()[header::CONTENT_TYPE], "application/problem+json");
        let body = executor.block_on(response.into_body().collect()).unwrap().to_bytes();
        serde_json::from_slice::<Value>(&body).unwrap()["reason"].clone()
    }

    #[test]
    fn each_error_that_is_refused_is_the_response_of_a_layer() {
        let mut executor = Executor::new(FakeClock::new());
        let guard = guard(&executor);
        let running = guard.bulkhead().try_slot().unwrap();
        let rejected = handled(guard.bulkhead().try_slot().unwrap_err());
        assert_eq!(rejected.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!((1..=2).contains(&retry_after(&rejected).expect("a time to fall back on")));
        assert_eq!(reason(&mut executor, rejected), "saturated");
        drop(running);
        let pending = guard.clone();
        let call = executor.spawn(async move { pending.execute(pending_call()).await });
        executor.advance(Duration::from_secs(2));
        let timed_out: GuardError<io::Error> = call.output().expect("its run limit has passed").unwrap_err();
        let timed_out = handled(timed_out);
        assert_eq!((timed_out.status(), retry_after(&timed_out)), (StatusCode::GATEWAY_TIMEOUT, None));
        assert_eq!(reason(&mut executor, timed_out), "timed_out");
        let breaker = Breaker::builder_on(executor.clock(), "search").build().unwrap();
        breaker.force_open();
        let open = handled(breaker.admit().unwrap_err());
        assert_eq!((open.status(), retry_after(&open)), (StatusCode::SERVICE_UNAVAILABLE, None));
        assert_eq!(open.headers()["bulklink-rejected"], "open_circuit");
        assert_eq!(reason(&mut executor, open), "open_circuit");
    }

    async fn pending_call() -> Result<(), io::Error> {
        pending().await
    }

    #[test]
    fn another_error_is_500_without_its_text_which_a_layer_outside_can_log() {
        let response = handled(io::Error::other("the secret"));
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let failure = response.extensions().get::<Failure>().expect("it is there").clone();
        assert_eq!((failure.to_string(), failure.error().is::<io::Error>()), ("the secret".into(), true));
        let mut executor = Executor::new(FakeClock::new());
        let body = executor.block_on(response.into_body().collect()).unwrap().to_bytes();
        let problem = json!({ "title": "Internal Server Error", "status": 500 });
        assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), problem);
    }

    #[test]
    fn the_responses_to_failures_can_be_others() {
        let executor = Executor::new(FakeClock::new());
        let guard = guard(&executor);
        let _running = guard.bulkhead().try_slot().unwrap();
        let responses = Responses::new().status(StatusCode::TOO_MANY_REQUESTS).retry_after_or(Duration::from_secs(7));
        let rejected = handled(Failure::with(&responses, guard.bulkhead().try_slot().unwrap_err()));
        assert_eq!(rejected.status(), StatusCode::TOO_MANY_REQUESTS);
        assert!((7..=14).contains(&retry_after(&rejected).expect("set")));
    }

    #[cfg(feature = "reqwest")]
    #[tokio::test]
    async fn an_upstream_that_fails_is_502_and_one_that_is_late_504() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let client = reqwest::Client::new();
        let late = client.get(&url).timeout(Duration::from_millis(20)).send().await.unwrap_err();
        assert_eq!(handled(late).status(), StatusCode::GATEWAY_TIMEOUT);
        drop(listener);
        let refused = client.get(&url).send().await.unwrap_err();
        let boxed: BoxError = refused.into();
        assert_eq!(handled(boxed).status(), StatusCode::BAD_GATEWAY);
        let invalid = client.get("no url").send().await.unwrap_err();
        assert_eq!(handled(invalid).status(), StatusCode::INTERNAL_SERVER_ERROR);
    }

    #[cfg(feature = "reqwest")]
    fn timeout() -> reqwest::Error {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let late = async { reqwest::Client::new().get(url).timeout(Duration::from_millis(1)).send().await };
        tokio.block_on(late).unwrap_err()
    }

    /// Both timers end the request at the same time.
    #[cfg(feature = "reqwest")]
    #[test]
    fn a_timeout_at_the_deadline_is_answered_as_by_the_layer_that_cancels() {
        const TIME: Duration = Duration::from_secs(2);
        let mut executor = Executor::new(FakeClock::new());
        for (after, error, expected) in [
            (TIME, timeout().into(), (504, json!("deadline_passed"), json!("orders"))),
            (TIME / 2, timeout().into(), (504, Value::Null, Value::Null)),
            (TIME, BoxError::from("broken"), (500, Value::Null, Value::Null)),
        ] {
            let bulkhead = Bulkhead::builder_on(executor.runtime(), "orders").parallelism(1).build().unwrap();
            let (runtime, error) = (executor.runtime(), Mutex::new(Some(error)));
            let error = Arc::new(error);
            let service = service_fn(move |_: Request<()>| {
                let (runtime, error) = (runtime.clone(), Arc::clone(&error));
                async move {
                    runtime.sleep_until(runtime.now() + after).await;
                    let error = error.lock().unwrap().take().expect("it is called once");
                    Ok::<_, io::Error>(handled(error))
                }
            });
            let layer = BulkheadLayer::new(&bulkhead).deadline_after(|_| Some(TIME)).cancel_at_deadline().respond();
            let answer = executor.spawn(layer.layer(service).oneshot(Request::new(())));
            executor.advance(after);
            let response = answer.output().expect("it has ended").unwrap();
            let status = response.status().as_u16();
            let body = executor.block_on(response.into_body().collect()).unwrap().to_bytes();
            let problem: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!((status, problem["reason"].clone(), problem["label"].clone()), expected);
            assert_eq!(bulkhead.status().in_flight, 0);
        }
    }

    #[cfg(feature = "reqwest")]
    #[test]
    fn a_timeout_of_a_client_at_its_deadline_is_the_error_of_the_layer_that_cancels() {
        const TIME: Duration = Duration::from_secs(2);
        let mut executor = Executor::new(FakeClock::new());
        for after in [TIME, TIME / 2] {
            let bulkhead = Bulkhead::builder_on(executor.runtime(), "orders").parallelism(1).build().unwrap();
            let runtime = executor.runtime();
            let service = service_fn(move |_: Request<()>| {
                let runtime = runtime.clone();
                async move {
                    runtime.sleep_until(runtime.now() + after).await;
                    Err::<Response<Full<Bytes>>, _>(timeout())
                }
            });
            let layer = BulkheadLayer::new(&bulkhead).deadline_after(|_| Some(TIME)).cancel_at_deadline().hold_body();
            let answer = executor.spawn(layer.layer(service).oneshot(Request::new(())));
            executor.advance(after);
            let error = answer.output().expect("it has ended").unwrap_err();
            assert_eq!((error.is::<DeadlinePassed>(), error.is::<reqwest::Error>()), (after == TIME, after < TIME));
        }
    }
}
