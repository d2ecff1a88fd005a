//! The log of failures. In a process of its own and one test, because all failures of a process
//! share a limit.
#![cfg(all(feature = "axum", feature = "breaker", feature = "tracing"))]

use std::future::pending;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::to_bytes;
use axum::response::IntoResponse;
use bulklink::Bulkhead;
use bulklink::testing::FakeClock;
use bulklink_breaker::{Guard, Settings};
use bulklink_tokio::Tokio;
use bulklink_tower::{BoxError, BreakerLayer, BulkheadLayer, Failure, GuardLayer};
use futures_util::{Stream, stream};
use http_body_util::BodyExt;
use reqwest::ResponseBuilderExt;
use tower::{Layer, Service, ServiceExt, service_fn};
use tracing_subscriber::fmt;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn take(&self) -> String {
        String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
    }
}

/// An error with a cause, which `io::Error` passes over.
#[derive(Debug)]
struct Failed(io::Error);

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("no order\nfor ann")
    }
}

impl std::error::Error for Failed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// A guard on virtual time whose run limit ends any call that does not end immediately.
fn guard() -> Result<Guard<Tokio>, BoxError> {
    let bulkhead = bulklink_tokio::Bulkhead::builder("payments").parallelism(1).build()?;
    let settings = Settings::consecutive(100);
    Ok(Guard::builder(&bulkhead).settings(settings).run_limit(Duration::from_secs(2)).build()?)
}

async fn never(_: http::Request<String>) -> io::Result<http::Response<String>> {
    pending().await
}

type Answer = http::Response<axum::body::Body>;

/// A body of one frame that breaks off.
fn broken() -> impl Stream<Item = io::Result<&'static str>> + Send {
    stream::iter([Ok("frame"), Err(io::ErrorKind::ConnectionReset.into())])
}

/// An answer that a service passes on is logged once, by the client's innermost layer.
async fn answers_of_upstreams(log: &Log) -> Result<(), BoxError> {
    let orders = bulklink_tokio::Bulkhead::builder("orders").parallelism(2).build()?;
    let guard = Guard::builder(&orders).settings(Settings::consecutive(100)).build()?;
    let ask = async |status: http::StatusCode| -> io::Result<Answer> {
        let mut answer = Answer::default();
        *answer.status_mut() = status;
        Ok(answer)
    };
    let request = |status| http::Request::new(status);
    let ask = service_fn(move |request: http::Request<_>| ask(request.into_body()));
    let client = BulkheadLayer::new(&orders).hold_body().layer(ask);
    for (status, logged) in [(404, false), (500, true), (503, true)] {
        let status = http::StatusCode::from_u16(status)?;
        let line = format!(
            " WARN bulklink: request failed status={} error=\"orders: the upstream has answered {status}\" \
             left_out=0\n",
            status.as_u16(),
        );
        let line = if logged { &*line } else { "" };
        _ = client.clone().oneshot(request(status)).await?;
        assert_eq!(log.take(), line);
        // A guard's, whatever its classifier says.
        _ = GuardLayer::new(&guard).hold_body().layer(ask).oneshot(request(status)).await?;
        assert_eq!(log.take(), line);
        let breaker = BreakerLayer::new(guard.breaker()).hold_body();
        _ = breaker.layer(client.clone()).oneshot(request(status)).await?;
        assert_eq!(log.take(), line, "once");
    }

    let ask = service_fn(async |_: reqwest::Request| {
        let answer = http::Response::builder().status(502).url("http://ann:secret@example.com:81/a?key=b".parse()?);
        Ok::<_, BoxError>(reqwest::Response::from(answer.body("broken")?))
    });
    let client = GuardLayer::new(&guard).hold_body().layer(BulkheadLayer::new(&orders).hold_body().layer(ask));
    let request = reqwest::Request::new(http::Method::GET, "http://example.com".parse()?);
    assert_eq!(client.oneshot(request).await?.text().await?, "broken");
    assert_eq!(
        log.take(),
        " WARN bulklink: request failed status=502 error=\"orders: example.com:81 has answered 502 Bad \
         Gateway\" left_out=0\n"
    );
    Ok(())
}

/// A body that breaks off is logged once, by the innermost layer, whether the service passes it on
/// or reads it.
async fn bodies_that_break_off(log: &Log) -> Result<(), BoxError> {
    let orders = bulklink_tokio::Bulkhead::builder("orders").parallelism(2).build()?;
    let guard = Guard::builder(&orders).settings(Settings::consecutive(100)).build()?;
    let routes = bulklink_tokio::Bulkhead::builder("routes").parallelism(1).build()?;
    let ask = async |_: reqwest::Request| -> io::Result<reqwest::Response> {
        let answer = http::Response::builder().url("http://example.com/a?key=b".parse().expect("it is valid"));
        Ok(answer.body(reqwest::Body::wrap_stream(broken())).expect("it is valid").into())
    };
    let ask = BulkheadLayer::new(&orders).hold_body().layer(service_fn(ask));
    let client = GuardLayer::new(&guard).hold_body().layer(ask);
    let request = || reqwest::Request::new(http::Method::GET, "http://example.com".parse().expect("it is valid"));
    let is_logged = |lines: &str| {
        let begin = " WARN bulklink: request failed error=\"orders: the response of example.com has broken off: ";
        lines.starts_with(begin) && lines.contains("connection reset") && lines.lines().count() == 1
    };

    let pass_on = service_fn(async |_: http::Request<()>| -> Result<http::Response<reqwest::Body>, BoxError> {
        let (_, body) = http::Response::from(client.clone().oneshot(request()).await?).into_parts();
        Ok(http::Response::new(body))
    });
    let answer = BulkheadLayer::new(&routes).respond().layer(pass_on).oneshot(http::Request::new(())).await?;
    assert!(answer.into_body().collect().await.is_err());
    assert!(is_logged(&log.take()), "passed on");

    let error = client.clone().oneshot(request()).await?.bytes().await.unwrap_err();
    assert!(is_logged(&log.take()), "read");
    assert_eq!(Failure::from(error).into_response().status(), 502);
    assert_eq!(log.take(), "", "not again");
    assert_eq!(guard.breaker().status().circuit.counts.failures, 2);
    Ok(())
}

const LATE: &str = "guard payments: the operation ran for longer than 2s";

fn line(error: &str) -> String {
    format!(" WARN bulklink: request failed status=504 error=\"{error}\" left_out=0\n")
}

/// A run limit that has ended an upstream call is logged, and an open circuit is not.
async fn failures_of_upstreams(log: &Log) -> Result<(), BoxError> {
    let guard = guard()?;

    let error = guard.execute(pending::<Result<(), io::Error>>()).await.unwrap_err();
    assert_eq!(Failure::from(error).into_response().status(), 504);
    assert_eq!(log.take(), line(&format!("the run limit has ended the operation: {LATE}")));

    // In a client, with another error around it.
    let mut client = GuardLayer::new(&guard).hold_body().layer(service_fn(never));
    let error = client.call(http::Request::new(String::new())).await.unwrap_err();
    assert_eq!(Failure::from(io::Error::other(error)).into_response().status(), 504);
    assert_eq!(log.take(), line(LATE));

    guard.breaker().force_open();
    log.take();
    let error = guard.execute(pending::<Result<(), io::Error>>()).await.unwrap_err();
    assert_eq!(Failure::from(error).into_response().status(), 503);
    assert_eq!(log.take(), "");
    Ok(())
}

/// A run limit that a layer answers is logged once, in whichever protocol.
async fn answers_of_a_layer(log: &Log) -> Result<(), BoxError> {
    let guard = guard()?;
    // The layer outside sees a response.
    let outside = BreakerLayer::new(guard.breaker()).respond();
    let mut service = outside.layer(GuardLayer::new(&guard).respond().layer(service_fn(never)));
    for (content_type, status) in [("text/plain", 504), ("application/grpc", 200)] {
        let request = http::Request::builder().header("content-type", content_type).body(String::new())?;
        assert_eq!(service.call(request).await?.status(), status);
        assert_eq!(log.take(), line(LATE), "{content_type}");
    }

    guard.breaker().force_open();
    log.take();
    assert_eq!(service.call(http::Request::new(String::new())).await?.status(), 503);
    assert_eq!(log.take(), "");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_is_no_rejection_is_logged_with_its_causes_ten_times_in_a_second() -> Result<(), BoxError> {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = fmt().without_time().with_ansi(false).with_writer(move || writer.clone()).finish();
    let _guard = tracing::subscriber::set_default(subscriber);

    let full = Bulkhead::builder_on(FakeClock::new(), "orders").parallelism(1).build()?;
    let _running = full.try_slot()?;
    let response = Failure::from(full.try_slot().unwrap_err()).into_response();
    assert_eq!(response.status(), 503);
    assert!(!log.take().contains("request failed"), "it is a rejection");

    let response = Failure::from(Failed(io::Error::other("the disk is gone"))).into_response();
    assert_eq!(
        log.take(),
        " WARN bulklink: request failed status=500 error=\"no order\\nfor ann: the disk is gone\" left_out=0\n"
    );
    assert!(!String::from_utf8(to_bytes(response.into_body(), usize::MAX).await?.to_vec())?.contains("disk"));

    _ = Failure::from("é".repeat(10_000)).into_response();
    assert!(log.take().len() < 1_200, "a long text is cut");

    failures_of_upstreams(&log).await?;
    answers_of_a_layer(&log).await?;
    bodies_that_break_off(&log).await?;
    // These are eight, and ten in a second are logged.
    std::thread::sleep(Duration::from_secs(1));
    answers_of_upstreams(&log).await?;

    for _ in 0..50 {
        _ = Failure::from("broken").into_response();
    }
    // Three if it takes less than a second since the sleep, on whichever machine.
    assert!((3..=10).contains(&log.take().lines().count()));
    Ok(())
}
