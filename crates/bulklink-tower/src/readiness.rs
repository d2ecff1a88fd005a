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
/// The problem has the labels of the bulkheads that are not ready, and no figures; and whether the
/// service is `draining`. Neither answer may be stored by a cache. Reading the verdict takes no
/// lock and no slot, so the route answers when every slot is taken: add it after the layers, which
/// would limit it, too.
///
/// A service that is about to end must say so for as long as a load balancer takes to notice, while
/// it still serves requests: [`Readiness::set_draining`] first, and close its bulkheads later. A
/// closed bulkhead is not ready either.
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
    // One look for each, so that a verdict of 503 names its reason.
    let (is_draining, labels) = (readiness.is_draining(), readiness.not_ready());
    if labels.is_empty() && !is_draining {
        return ([NO_STORE], "ready").into_response();
    }
    not_ready(is_draining, &labels)
}

fn not_ready(is_draining: bool, labels: &[Arc<str>]) -> Response {
    let labels: Vec<&str> = labels.iter().map(|label| &**label).collect();
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let (title, detail) = if is_draining {
        ("Draining", "The service is draining, and should get no more requests.")
    } else {
        ("Not ready", "The service should get no more requests for now.")
    };
    let problem = json!({
        "title": title,
        "status": status.as_u16(),
        "detail": detail,
        "draining": is_draining,
        "labels": labels,
    });
    let content_type = HeaderValue::from_static("application/problem+json");
    (status, [NO_STORE, (header::CONTENT_TYPE, content_type)], problem.to_string()).into_response()
}
