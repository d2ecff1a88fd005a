//! A language model that answers each request with a token, again and again.

use std::io;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::response::IntoResponse;
use axum::routing::post;
use futures_util::stream::{self, StreamExt};
use tokio::time::sleep;

/// Makes a model that takes so long for a token. It streams as many as the request's body asks for,
/// or dies after three if the body is no number.
pub fn upstream(token: Duration) -> Router {
    let answer = move |prompt: String| async move {
        let tokens: Option<u64> = prompt.parse().ok();
        let events = stream::iter(1..=tokens.unwrap_or(4)).then(move |number| async move {
            sleep(token).await;
            if tokens.is_none() && number > 3 {
                return Err(io::Error::other("out of memory"));
            }
            Ok(Bytes::from(format!("data: {number}\n\n")))
        });
        Body::from_stream(events).into_response()
    };
    Router::new().route("/", post(answer))
}
