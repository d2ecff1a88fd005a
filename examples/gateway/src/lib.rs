//! A gateway to a language model: tenants share the tokens that it can generate at once in fair
//! turns, and each has a budget of tokens for each minute.
//!
//! Requests of a batch come after those of users. A request costs as many units as its JSON allows
//! tokens. Each token that comes gives one back, so that the next request does not wait for an
//! answer that turns out short. The upstream must enforce the same limit.

mod bound;
mod budget;
mod price;
pub mod upstream;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use bulklink_metrics::{Exporter, Format};
use bulklink_tokio::partitions::Class;
use bulklink_tokio::{Bulkhead, InvalidArgument, Partitions, Registry, Tokio};
use bulklink_tower::http::{HeldSlot, KeyHeader, PauseLayer, Responses, StreamLimitLayer, TimeoutHeader};
use bulklink_tower::{BoxError, BulkheadLayer, Deadline, Failure};
use futures_util::TryStreamExt;
use tower::util::BoxCloneSyncService;
use tower::{Layer, ServiceExt};

use crate::bound::with_bound;
use crate::budget::{Budgets, within_budget};
use crate::price::{Cost, price};

/// The time of a request that has no deadline in the header `x-deadline`.
const LONGEST: Duration = Duration::from_mins(5);

/// How long the first token may take, and each after it.
const FIRST: Duration = Duration::from_secs(20);
const SILENCE: Duration = Duration::from_secs(5);

/// The path of requests that no user waits for.
const BATCHES: &str = "/v1/batches";

/// The client of the model, and its URL.
#[derive(Clone)]
struct Model {
    client: BoxCloneSyncService<reqwest::Request, reqwest::Response, reqwest::Error>,
    builder: reqwest::Client,
    url: Arc<str>,
}

/// Makes the gateway to the model at `url`. The units that the tenants share are tokens; each has
/// `per_minute` of them in a minute. `model` limits requests, whatever they cost.
///
/// # Errors
///
/// None: the names of its headers are valid.
pub fn gateway(
    url: &str,
    model: &Bulkhead,
    tenants: &Partitions<String>,
    per_minute: NonZeroU32,
) -> Result<Router, InvalidArgument> {
    let deadline = TimeoutHeader::unix_millis("x-deadline")?.or(LONGEST).at_most(LONGEST);
    let tenant = KeyHeader::new("x-tenant", "anonymous")?;
    let requests = BulkheadLayer::new(model).respond();
    let in_turn = BulkheadLayer::keyed_by_header(tenants, &tenant)
        .cost(cost)
        .class(class)
        .deadline_from(&deadline)
        .cancel_at_deadline()
        .respond_with(&Responses::new().attach_rejections())
        .share_slot();
    // While the model answers 429, no request is sent to it.
    let pause = PauseLayer::new(model, Tokio);
    let builder = reqwest::Client::new();
    let client = BoxCloneSyncService::new(pause.layer(builder.clone()));
    let budgets = Arc::new(Budgets::new(per_minute, tenant));

    let exporter = Exporter::new(&Registry::new());
    exporter.add(model);
    exporter.add_partitions(&tenants.handle());
    let format = Format::Prometheus;
    let metrics = async move || ([(header::CONTENT_TYPE, format.content_type())], exporter.render(format));

    Ok(Router::new()
        .route("/v1/messages", post(forward))
        .route(BATCHES, post(forward))
        .layer(StreamLimitLayer::new(Tokio).first(FIRST).silence(SILENCE))
        .layer(requests)
        // Outside, so that the queue of requests has few places: it is first come, first served.
        .layer(in_turn)
        .layer(from_fn(with_bound))
        .layer(from_fn_with_state(budgets, within_budget))
        .layer(from_fn(price))
        .route("/metrics", get(metrics))
        .route("/health", get(async || "ok\n"))
        .with_state(Model { client, builder, url: url.into() }))
}

/// The cost of a request, which was read from its JSON.
fn cost(request: &Request) -> usize {
    request.extensions().get::<Cost>().map_or(1, |cost| cost.tokens)
}

/// A batch can wait for all that users ask.
fn class(request: &Request) -> Class {
    if request.uri().path() == BATCHES { Class::Background } else { Class::Normal }
}

/// Forwards the events as they come, and gives a unit back for each token.
async fn forward(
    State(model): State<Model>,
    Extension(held): Extension<HeldSlot>,
    deadline: Deadline,
    body: Bytes,
) -> Result<Response, Failure> {
    let request = model.builder.post(&*model.url).header(header::CONTENT_TYPE, "application/json");
    let answer = model.client.oneshot(request.timeout(deadline.left()).body(body).build()?).await?;
    if answer.status() == StatusCode::TOO_MANY_REQUESTS {
        return Ok(busy(&answer));
    }
    let mut usage = 0;
    let events = answer.error_for_status()?.bytes_stream().map_err(BoxError::from).inspect_ok(move |events| {
        let tokens = tokens_in(events);
        held.give_back(tokens);
        usage += tokens;
        if events.ends_with(upstream::END) {
            tracing::info!(usage, "answered");
        }
    });
    Ok(([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(events)).into_response())
}

/// The answer while the model asks for a pause: it is not the fault of this client.
fn busy(answer: &reqwest::Response) -> Response {
    let mut response = StatusCode::SERVICE_UNAVAILABLE.into_response();
    if let Some(when) = answer.headers().get(header::RETRY_AFTER) {
        response.headers_mut().insert(header::RETRY_AFTER, when.clone());
    }
    response
}

/// Each event has a token, but for the last.
fn tokens_in(events: &[u8]) -> usize {
    let count = events.windows(6).filter(|window| *window == b"data: ").count();
    count - usize::from(events.ends_with(upstream::END))
}
