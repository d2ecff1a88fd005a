//! Tells a tenant by which limit it was rejected: its own, or that of all.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use bulklink_tokio::{Bound, Reason, Rejection};

/// The header with the limit: `tenant` or `all`.
const LIMIT: HeaderName = HeaderName::from_static("x-limit");

/// Answers 429 where a tenant has sent too much, and leaves the 503 where the model is full.
pub(crate) async fn with_bound(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let Some(rejection) = response.extensions().get::<Rejection>() else { return response };
    let (limit, is_too_much) = match (rejection.bound(), rejection.reason()) {
        (Some(Bound::Key), _) => ("tenant", true),
        // Of all tenants, this one has the most requests waiting.
        (Some(_), Reason::Displaced) => ("all", true),
        (Some(_), _) => ("all", false),
        (None, _) => return response,
    };
    if is_too_much {
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    }
    response.headers_mut().insert(LIMIT, HeaderValue::from_static(limit));
    response
}
