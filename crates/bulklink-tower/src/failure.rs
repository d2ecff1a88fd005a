//! The error of a handler, as a response.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
#[cfg(feature = "tracing")]
use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
#[cfg(feature = "tracing")]
use bulklink::plumbing::{
    log::{Account, is_on, limited},
    texts,
};
use bulklink::runtime::SpawnError;
use serde_json::json;
#[cfg(feature = "tracing")]
use tracing::Level;

use crate::BoxError;
use crate::http::{Responses, UpstreamTimedOut};
use crate::rejection::{find, is_timeout};

/// The error of a handler of axum, which `?` makes of any other: each that this workspace makes is
/// the response that a layer would make of it.
///
/// | the error, or one of its sources | the response |
/// | --- | --- |
/// | one of [those in the table](Responses) | that of the table, with `Retry-After` |
/// | of reqwest: a timeout | 504 |
/// | of reqwest, otherwise | 502 |
/// | a closure that no thread took ([`SpawnError`]) | 503 |
/// | any other | 500 |
///
/// The body is a problem (RFC 9457), without the text of the error, which is the service's own
/// affair: it is among the extensions of the response as a `Failure`, for a layer outside. With the
/// feature `tracing`, an error that is not in the table of rejections is logged as the event
/// `request.failed` (`WARN`), with the status and the texts of the error and its causes: at most
/// ten in any second, and the next one has the number of those that were left out.
///
/// A timeout of reqwest that ends a request at its own deadline is answered by the layer that
/// [cancels](crate::BulkheadLayer::cancel_at_deadline) it, as if that had been faster.
///
/// ```
/// use axum::{Router, routing::get};
/// use bulklink_tokio::Bulkhead;
/// use bulklink_tower::Failure;
///
/// let reports = Bulkhead::builder("reports").parallelism(4).waiting_room(8).build()?;
/// let report = async move || {
///     let slot = reports.slot().await?;
///     let text = tokio::fs::read_to_string("report.txt").await?;
///     drop(slot);
///     Ok::<_, Failure>(text)
/// };
/// let app: Router = Router::new().route("/report", get(report));
/// # Ok::<(), bulklink_tokio::InvalidArgument>(())
/// ```
#[derive(Clone)]
pub struct Failure {
    error: Arc<dyn Error + Send + Sync>,
    responses: Responses,
}

impl Failure {
    /// Makes one of an error, with these responses in place of the defaults: to be used in
    /// `map_err`.
    pub fn with(responses: &Responses, error: impl Into<BoxError>) -> Self {
        Failure { error: error.into().into(), responses: responses.clone() }
    }

    /// Returns the error.
    #[must_use]
    pub fn error(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.error
    }
}

impl<E: Into<BoxError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::with(&Responses::new(), error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let error: &(dyn Error + 'static) = &*self.error;
        let mut response = self.responses.of(error).unwrap_or_else(|| {
            let response = other(error);
            #[cfg(feature = "tracing")]
            log(response.status(), error);
            response
        });
        response.extensions_mut().insert(self);
        response
    }
}

fn other(error: &(dyn Error + 'static)) -> Response {
    let status = match find::<SpawnError>(error) {
        Some(_) => StatusCode::SERVICE_UNAVAILABLE,
        None => status(error),
    };
    let title = status.canonical_reason().unwrap_or_default();
    let problem = json!({ "title": title, "status": status.as_u16() });
    let body = Body::from(problem.to_string());
    let mut response = (status, [(header::CONTENT_TYPE, "application/problem+json")], body).into_response();
    if is_timeout(error) {
        response.extensions_mut().insert(UpstreamTimedOut);
    }
    response
}

/// Logs an error that is no rejection.
#[cfg(feature = "tracing")]
fn log(status: StatusCode, error: &(dyn Error + 'static)) {
    /// How much of the texts is logged, in bytes.
    const LONGEST: usize = 1_000;
    static FAILURES: LazyLock<Account> = LazyLock::new(Account::new);
    if !is_on() {
        return;
    }
    limited(&FAILURES, |left_out| {
        let mut texts = texts(error);
        if let Some(end) = (0..=LONGEST).rev().find(|&end| texts.len() > LONGEST && texts.is_char_boundary(end)) {
            texts.truncate(end);
            texts.push('…');
        }
        tracing::event!(
            name: "request.failed",
            target: "bulklink",
            Level::WARN,
            status = status.as_u16(),
            error = &*texts,
            left_out = left_out(),
            "request failed",
        );
    });
}

fn status(error: &(dyn Error + 'static)) -> StatusCode {
    if is_timeout(error) {
        return StatusCode::GATEWAY_TIMEOUT;
    }
    #[cfg(feature = "reqwest")]
    if find::<reqwest::Error>(error).is_some_and(|error| !error.is_builder()) {
        return StatusCode::BAD_GATEWAY;
    }
    StatusCode::INTERNAL_SERVER_ERROR
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.error, f)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}
