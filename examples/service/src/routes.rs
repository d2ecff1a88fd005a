//! The routes. In each, a call is admitted first, and its slots then go where its work goes.

use std::convert::Infallible;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use futures_util::stream::{self, Stream, StreamExt};
use prometheus_client::encoding::text;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::admission::Admission;
use crate::caller::Caller;
use crate::problem::Problem;

#[derive(Debug)]
pub(crate) struct App {
    pub(crate) admission: Arc<Admission>,
    pub(crate) metrics: prometheus_client::registry::Registry,
    pub(crate) client: reqwest::Client,
    pub(crate) upstream: String,
}

pub(crate) fn router(app: App) -> Router {
    Router::new()
        .route("/orders/{id}", get(order))
        .route("/digest/{rounds}", get(digest))
        .route("/export/{chunks}", get(export))
        .route("/metrics", get(metrics))
        .with_state(Arc::new(app))
}

/// An order of the upstream. The slots are held until the upstream has answered.
async fn order(State(app): State<Arc<App>>, Path(id): Path<String>, caller: Caller) -> Result<Bytes, Problem> {
    let _admitted = app.admission.admit(&app.admission.orders, &caller).await?;
    let answer =
        async { app.client.get(format!("{}/{id}", app.upstream)).send().await?.error_for_status()?.bytes().await };
    caller.in_time(answer).await?.map_err(Problem::Upstream)
}

/// Work for the processor. A thread cannot be stopped, so the slots are the closure's: a caller
/// that goes away does not free them earlier.
async fn digest(State(app): State<Arc<App>>, Path(rounds): Path<u64>, caller: Caller) -> Result<String, Problem> {
    let admitted = app.admission.admit(&app.admission.digest, &caller).await?;
    let work = spawn_blocking(move || {
        let _admitted = admitted;
        let mix = |digest: u64, round: u64| black_box(digest.rotate_left(5) ^ round.wrapping_mul(0x9E37_79B9));
        (0..rounds).fold(7, mix)
    });
    let digest = caller.in_time(work).await?.map_err(|error| Problem::Internal(error.to_string()))?;
    Ok(format!("{digest:x}\n"))
}

/// A long answer. The slots are the body's, because the work goes on after this has returned.
async fn export(State(app): State<Arc<App>>, Path(chunks): Path<usize>, caller: Caller) -> Result<Body, Problem> {
    let admitted = app.admission.admit(&app.admission.export, &caller).await?;
    let chunks = stream::repeat(Bytes::from_static(&[b'x'; 16 * 1024])).take(chunks).then(|chunk| async {
        sleep(Duration::from_millis(5)).await;
        chunk
    });
    Ok(holding(admitted, chunks))
}

/// Returns a body that keeps `held` until it has been sent, or is dropped because the client has
/// gone.
fn holding<T: Send + 'static>(held: T, chunks: impl Stream<Item = Bytes> + Send + 'static) -> Body {
    Body::from_stream(chunks.map(move |chunk| {
        let _ = &held;
        Ok::<_, Infallible>(chunk)
    }))
}

async fn metrics(State(app): State<Arc<App>>) -> Result<impl IntoResponse, Problem> {
    let mut page = String::new();
    text::encode(&mut page, &app.metrics).map_err(|error| Problem::Internal(error.to_string()))?;
    Ok(([(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], page))
}
