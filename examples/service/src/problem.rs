//! Answers to requests that failed, as problem details (RFC 9457).

use std::time::Duration;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bulklink_tokio::{Reason, Rejection};
use serde_json::json;
use tracing::info;

use crate::admission::TENANTS;

#[derive(Debug)]
pub(crate) enum Problem {
    Rejected(Rejection),
    BadRequest(String),
    Late,
    Upstream(reqwest::Error),
    Internal(String),
}

impl From<Rejection> for Problem {
    fn from(rejection: Rejection) -> Self {
        Problem::Rejected(rejection)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, title, detail) = match &self {
            Problem::Rejected(rejection) => return rejected(rejection),
            Problem::BadRequest(detail) => (StatusCode::BAD_REQUEST, "Invalid header", Some(detail.clone())),
            Problem::Late => (StatusCode::GATEWAY_TIMEOUT, "The deadline has passed", None),
            Problem::Upstream(error) => (StatusCode::BAD_GATEWAY, "Upstream failed", Some(error.to_string())),
            Problem::Internal(detail) => (StatusCode::INTERNAL_SERVER_ERROR, "Internal error", Some(detail.clone())),
        };
        answer(status, json!({ "title": title, "detail": detail })).into_response()
    }
}

/// The work has not begun, so a client that still wants an answer may safely try again. Nothing
/// says when a slot will be free, so the time is a guess: soon, or by another process.
fn rejected(rejection: &Rejection) -> Response {
    let (bulkhead, reason) = (rejection.label(), rejection.reason());
    info!(bulkhead, reason = reason.as_str(), waited = ?rejection.waited(), "rejected");
    // The wait ended because of the caller's own deadline.
    let is_late = rejection.kept().is_some() || rejection.limit() == Some(Duration::ZERO);
    let (status, retry_after) = match reason {
        Reason::InvalidCost | Reason::InvalidLimits => (StatusCode::INTERNAL_SERVER_ERROR, None),
        Reason::Expired if is_late => (StatusCode::GATEWAY_TIMEOUT, None),
        Reason::Saturated | Reason::Expired if bulkhead == TENANTS => (StatusCode::TOO_MANY_REQUESTS, Some("1")),
        Reason::Closed => (StatusCode::SERVICE_UNAVAILABLE, Some("5")),
        _ => (StatusCode::SERVICE_UNAVAILABLE, Some("1")),
    };
    let problem = json!({
        "type": format!("urn:service:rejected:{}", reason.as_str()),
        "title": "Not admitted",
        "detail": rejection.to_string(),
        "bulkhead": bulkhead,
        "waited_ms": rejection.waited().as_millis(),
    });
    (retry_after.map(|seconds| [(header::RETRY_AFTER, seconds)]), answer(status, problem)).into_response()
}

fn answer(status: StatusCode, problem: serde_json::Value) -> impl IntoResponse {
    (status, [(header::CONTENT_TYPE, "application/problem+json")], problem.to_string())
}
