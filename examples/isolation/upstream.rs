//! The upstreams, which serve one page each. From a given instant on, an upstream can stall: it
//! sends the head of its response and half of the body, then nothing, and keeps the connection
//! open.

use std::{convert::Infallible, io, time::Duration};

use axum::{Router, body::Body, http::header::CONTENT_LENGTH, response::Response, routing::get};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use tokio::time::{Instant, sleep};

use crate::http::Server;

static PAGE: [u8; 2_048] = [b'.'; 2_048];

pub(crate) async fn start(work: Duration, stalls_from: Option<Instant>) -> io::Result<Server> {
    let answer = move || answer(work, stalls_from);
    Server::start(Router::new().route("/", get(answer))).await
}

async fn answer(work: Duration, stalls_from: Option<Instant>) -> Response {
    sleep(work).await;
    let stalled = stalls_from.is_some_and(|instant| Instant::now() >= instant);
    page(if stalled { half_a_page() } else { Body::from(Bytes::from_static(&PAGE)) })
}

fn page(body: Body) -> Response {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_LENGTH, PAGE.len().into());
    response
}

fn half_a_page() -> Body {
    let half = Bytes::from_static(&PAGE[..PAGE.len() / 2]);
    let then_silence = stream::iter([Ok::<_, Infallible>(half)]).chain(stream::pending());
    Body::from_stream(then_silence)
}
