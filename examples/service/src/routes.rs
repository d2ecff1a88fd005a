//! The routes. Each is in the layer of its own bulkhead, and all of them in that of the tenants.

use std::convert::Infallible;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::handler::Handler;
use axum::routing::get;
use axum::{Extension, Router};
use bulklink_metrics::{Exporter, metrics_route};
use bulklink_tokio::{Readiness, Registry};
use bulklink_tower::http::HeldSlot;
use bulklink_tower::{Deadline, Failure, page, readiness_route};
use futures_util::stream::{self, StreamExt};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::admission::Admission;
use crate::layers::{Headers, limit};

#[derive(Debug)]
pub(crate) struct App {
    pub(crate) registry: Registry,
    pub(crate) admission: Admission,
    pub(crate) headers: Headers,
    pub(crate) readiness: Readiness,
    pub(crate) exporter: Exporter,
    pub(crate) client: reqwest::Client,
    pub(crate) upstream: String,
}

pub(crate) fn router(app: App) -> Router {
    let (admission, headers) = (&app.admission, &app.headers);
    Router::new()
        .route("/orders/{id}", get(order.layer(limit(&admission.orders))))
        .route("/digest/{rounds}", get(digest.layer(limit(&admission.digest))))
        .route("/export/{chunks}", get(export.layer(limit(&admission.export))))
        // Outside of the routes' bulkheads, so that a tenant that has used up its share does not
        // wait in their slots.
        .layer(headers.limit_each(&admission.tenants))
        // Below, so that nothing limits them.
        .route("/metrics", metrics_route(&app.exporter))
        .route("/health", get(health))
        .route("/ready", readiness_route(&app.readiness))
        .merge(page::router(&app.registry))
        .with_state(Arc::new(app))
}

/// An order of the upstream, which has as long as the client still waits. A failure of the upstream
/// is 502 or 504, and is logged.
async fn order(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    deadline: Option<Deadline>,
) -> Result<Bytes, Failure> {
    let mut request = app.client.get(format!("{}/{id}", app.upstream));
    if let Some(deadline) = deadline {
        request = request.timeout(deadline.left());
    }
    Ok(request.send().await?.error_for_status()?.bytes().await?)
}

/// Work for the processor. A thread cannot be stopped, so it holds the slots, too: a caller that
/// goes away, or is late, does not free them earlier.
async fn digest(Path(rounds): Path<u64>, Extension(held): Extension<HeldSlot>) -> Result<String, Failure> {
    let work = spawn_blocking(move || {
        let _held = held;
        let mix = |digest: u64, round: u64| black_box(digest.rotate_left(5) ^ round.wrapping_mul(0x9E37_79B9));
        (0..rounds).fold(7, mix)
    });
    Ok(format!("{:x}\n", work.await?))
}

/// A long answer, which holds its slots until it has been sent, or the client has gone.
async fn export(Path(chunks): Path<usize>) -> Body {
    let chunks = stream::repeat(Bytes::from_static(&[b'x'; 16 * 1024])).take(chunks).then(|chunk| async {
        sleep(Duration::from_millis(5)).await;
        Ok::<_, Infallible>(chunk)
    });
    Body::from_stream(chunks)
}

/// The process lives; whether its bulkheads have room does not matter here.
async fn health() -> &'static str {
    "ok\n"
}
