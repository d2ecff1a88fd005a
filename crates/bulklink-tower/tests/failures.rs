//! The log of failures. In a process of its own, because all failures of a process share a limit.
#![cfg(all(feature = "axum", feature = "tracing"))]

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use axum::body::to_bytes;
use axum::response::IntoResponse;
use bulklink::Bulkhead;
use bulklink::testing::FakeClock;
use bulklink_tower::{BoxError, Failure};
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

#[tokio::test]
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

    for _ in 0..50 {
        _ = Failure::from("broken").into_response();
    }
    assert_eq!(log.take().lines().count(), 8);
    Ok(())
}
