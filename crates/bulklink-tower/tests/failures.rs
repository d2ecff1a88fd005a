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
use bulklink_tower::{BoxError, BreakerLayer, Failure, GuardLayer};
use tower::{Layer, Service, service_fn};
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

    for _ in 0..50 {
        _ = Failure::from("broken").into_response();
    }
    assert_eq!(log.take().lines().count(), 4);
    Ok(())
}
