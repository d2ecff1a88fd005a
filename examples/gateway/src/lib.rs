//! A gateway to a language model: bounds the tokens that are being generated, for all and for each
//! tenant, and holds them until the stream of events has ended.
//!
//! A layer admits a request before its body is read, so the cost cannot come from `max_tokens` in
//! the JSON. As in other gateways, the client sends it in a header, too; a request without it costs
//! the usual number. The upstream must enforce the same limit.

pub mod upstream;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{BoxError, Router};
use bulklink_tokio::{Bulkhead, InvalidArgument, Partitions};
use bulklink_tower::BulkheadLayer;
use bulklink_tower::http::{KeyHeader, Responses, TimeoutHeader};
use futures_util::stream;
use tokio::time::{Instant, timeout_at};

/// The cost of a request that does not name one, in tokens.
const USUAL: usize = 1_000;

/// The header with the point in time at which a request is to be over, in milliseconds since 1970.
const DEADLINE: &str = "x-deadline";

/// The time of a request that has no deadline.
const LONGEST: Duration = Duration::from_mins(5);

/// The parts of the gateway.
#[derive(Clone, Debug)]
struct Upstream {
    client: reqwest::Client,
    url: String,
}

/// Makes the gateway to the upstream at `url`. The units of both limits are tokens.
///
/// # Errors
///
/// None: the names of its headers are valid.
pub fn gateway(url: &str, tokens: &Bulkhead, tenants: &Partitions<String>) -> Result<Router, InvalidArgument> {
    let deadline = TimeoutHeader::unix_millis(DEADLINE)?.or(LONGEST).at_most(LONGEST);
    let tenant = KeyHeader::new("x-tenant", "anonymous")?;
    let all = BulkheadLayer::new(tokens).cost(cost).deadline_from(&deadline).respond();
    let each = BulkheadLayer::keyed_by_header(tenants, &tenant)
        .cost(cost)
        .deadline_from(&deadline)
        .cancel_at_deadline()
        .respond_with(&Responses::new().status(StatusCode::TOO_MANY_REQUESTS));
    Ok(Router::new()
        .route("/v1/messages", post(forward))
        .layer(all)
        // Outside, so that a tenant beyond its share takes no place in the queue of all.
        .layer(each)
        .route("/health", get(async || "ok\n"))
        .with_state(Upstream { client: reqwest::Client::new(), url: url.into() }))
}

/// The cost of a request: at most as many tokens as it generates.
fn cost(request: &Request) -> usize {
    let tokens = request.headers().get("x-max-tokens").and_then(|value| value.to_str().ok()?.parse().ok());
    tokens.unwrap_or(USUAL).max(1)
}

/// Returns when a request is to be over. A point in time stays the same however long it has waited.
fn end(headers: &HeaderMap) -> Instant {
    let millis = headers.get(DEADLINE).and_then(|value| value.to_str().ok()?.parse().ok());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let left = millis.map_or(LONGEST, |millis| Duration::from_millis(millis).saturating_sub(now));
    Instant::now() + left.min(LONGEST)
}

/// Forwards the events as they come. The deadline, and an upstream that dies, end the stream with
/// an error, which aborts the response: the client can distinguish it from a complete one.
async fn forward(
    State(upstream): State<Upstream>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<impl IntoResponse, StatusCode> {
    let end = end(&headers);
    let answer = upstream.client.post(upstream.url).body(body).send().await;
    let answer = answer.and_then(reqwest::Response::error_for_status).map_err(|_| StatusCode::BAD_GATEWAY)?;
    let events = stream::try_unfold(answer, move |mut answer| async move {
        let chunk = timeout_at(end, answer.chunk()).await??;
        Ok::<_, BoxError>(chunk.map(|chunk| (chunk, answer)))
    });
    Ok(([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(events)))
}
