//! A route by which a load balancer learns whether to send more requests.

use std::sync::Arc;

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use bulklink::Readiness;
use serde_json::json;

const NO_STORE: (HeaderName, HeaderValue) = (header::CACHE_CONTROL, HeaderValue::from_static("no-store"));

/// Makes a route for the probe of a load balancer: it answers 200 and `ready`, or 503 with a
/// problem (RFC 9457).
///
/// The problem has the labels of the bulkheads that are not ready, and no figures. Neither answer
/// may be stored by a cache. Reading the verdict takes no lock and no slot, so the route answers
/// when every slot is taken: add it after the layers, which would limit it, too.
///
/// A service that is closing is not ready. The route should answer so for as long as a load
/// balancer takes to notice: end the server later than that.
///
/// # Examples
///
/// ```
/// use axum::{Router, routing::get};
/// use bulklink_tokio::{Bulkhead, Readiness};
/// use bulklink_tower::{BulkheadLayer, readiness_route};
/// use std::time::Duration;
///
/// let workers = Bulkhead::builder("workers").parallelism(4).waiting_room(50).build()?;
/// let readiness = Readiness::new(Duration::from_secs(10))?;
/// readiness.watch(&workers);
///
/// let app: Router = Router::new()
///     .route("/digest", get(async || "42"))
///     .route_layer(BulkheadLayer::new(&workers).respond())
///     .route("/ready", readiness_route(&readiness));
/// # Ok::<(), bulklink_tokio::InvalidArgument>(())
/// ```
pub fn readiness_route<S>(readiness: &Readiness) -> MethodRouter<S>
where
    S: Clone + Send + Sync + 'static,
{
    let readiness = readiness.clone();
    get(async move || answer(&readiness))
}

fn answer(readiness: &Readiness) -> Response {
    // One look for both, so that a verdict of 503 names its reason.
    let labels = readiness.not_ready();
    if labels.is_empty() { ([NO_STORE], "ready").into_response() } else { not_ready(&labels) }
}

fn not_ready(labels: &[Arc<str>]) -> Response {
    let labels: Vec<&str> = labels.iter().map(|label| &**label).collect();
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let problem = json!({
        "title": "Not ready",
        "status": status.as_u16(),
        "detail": "The service should get no more requests for now.",
        "labels": labels,
    });
    let content_type = HeaderValue::from_static("application/problem+json");
    (status, [NO_STORE, (header::CONTENT_TYPE, content_type)], problem.to_string()).into_response()
}
