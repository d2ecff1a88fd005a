//! The layers around the routes: what limits them, and what they read in a request.

use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bulklink_tokio::{Bulkhead, Partitions, Rejection, Tokio};
use bulklink_tower::BulkheadLayer;
use bulklink_tower::http::{Respond, Responses};
use tracing::info;

/// Limits one route: each needs a bulkhead of its own.
pub(crate) fn limit(bulkhead: &Bulkhead) -> BulkheadLayer<Request, Tokio, Respond> {
    BulkheadLayer::new(bulkhead).deadline_after(time).respond().share_slot()
}

/// Limits each tenant, over all routes, and cancels what is late.
pub(crate) fn limit_each(tenants: &Partitions<String>) -> BulkheadLayer<Request, Tokio, Respond> {
    BulkheadLayer::keyed(tenants, tenant)
        .deadline_after(time)
        .cancel_at_deadline()
        .respond_with(&Responses::new().status(StatusCode::TOO_MANY_REQUESTS))
        .share_slot()
}

/// Logs a response that a bulkhead gave.
pub(crate) async fn log(response: Response) -> Response {
    if let Some(rejection) = response.extensions().get::<Rejection>() {
        let (bulkhead, reason) = (rejection.label(), rejection.reason().as_str());
        info!(bulkhead, reason, waited = ?rejection.waited(), "rejected");
    }
    response
}

fn time(request: &Request) -> Option<Duration> {
    text(request.headers(), "x-timeout-ms")?.parse().ok().map(Duration::from_millis)
}

fn tenant(request: &Request) -> &str {
    text(request.headers(), "x-tenant").unwrap_or("anonymous")
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
