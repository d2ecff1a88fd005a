//! The cost of a request, from its body: outside of the layers, which admit it by its cost.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

/// The longest body, in bytes: it is in memory before its request is admitted.
const LONGEST: usize = 1 << 20;

/// The cost of a request that does not limit its tokens.
const USUAL: usize = 1_000;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) tokens: usize,
}

/// The part of the JSON that the gateway reads.
#[derive(Deserialize)]
struct Prompt {
    #[serde(default)]
    max_tokens: Option<usize>,
}

pub(crate) async fn price(request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, LONGEST).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    match serde_json::from_slice::<Prompt>(&body) {
        Ok(prompt) => parts.extensions.insert(Cost { tokens: prompt.max_tokens.unwrap_or(USUAL).max(1) }),
        Err(error) => return (StatusCode::BAD_REQUEST, format!("the body: {error}\n")).into_response(),
    };
    next.run(Request::from_parts(parts, Body::from(body))).await
}
