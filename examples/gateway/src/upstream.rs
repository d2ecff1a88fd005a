//! A language model that answers each request with a token, again and again.

use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use futures_util::stream::{self, StreamExt};
use serde::Deserialize;
use tokio::time::sleep;

/// The end of a stream.
pub const END: &[u8] = b"data: [DONE]\n\n";

/// The part of the JSON that the model reads.
#[derive(Deserialize)]
struct Prompt {
    /// The number of tokens in its answer; with a `+`, it is silent after them. `die` is three
    /// tokens and a failure, and `busy` an answer that asks for a pause.
    prompt: String,
}

/// Makes a model that takes so long for a token.
pub fn upstream(token: Duration) -> Router {
    Router::new().route("/", post(async move |Json(Prompt { prompt })| answer(&prompt, token)))
}

fn answer(prompt: &str, token: Duration) -> Response {
    if prompt == "busy" {
        return (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "1")]).into_response();
    }
    let tokens = prompt.trim_end_matches('+').parse().unwrap_or(3_u64);
    let events = stream::iter(1..=tokens).then(move |number| async move {
        sleep(token).await;
        Ok(Bytes::from(format!("data: {number}\n\n")))
    });
    let end = match prompt {
        "die" => stream::once(async move {
            sleep(token).await;
            Err(io::Error::other("out of memory"))
        })
        .boxed(),
        _ if prompt.ends_with('+') => stream::pending().boxed(),
        _ => stream::iter([Ok(Bytes::from_static(END))]).boxed(),
    };
    Body::from_stream(events.chain(end)).into_response()
}
