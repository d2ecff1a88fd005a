//! The error of a handler, as a response.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bulklink::runtime::SpawnError;
#[cfg(feature = "breaker")]
use bulklink_breaker::TimedOut;
use serde_json::json;

use crate::http::{Responses, UpstreamTimedOut, upstream};
use crate::rejection::{find, is_timeout};
use crate::{BoxError, log};

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
/// feature `tracing`, an error that is not in the table of rejections, and the end of an operation
/// by the run limit of a guard, is logged as the event `request.failed` (`WARN`), with the status
/// and the texts of the error and its causes: at most ten in any second, and the next one has the
/// number of those that were left out. A body of reqwest that breaks off was logged by its layer.
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
        let rejected = self.responses.of(error);
        let has_begun = rejected.is_none() || is_of_run_limit(error);
        let mut response = rejected.unwrap_or_else(|| other(error));
        // A body that has broken off is logged by its layer.
        if has_begun && find::<upstream::Failed>(error).is_none() {
            log::failed(Some(response.status()), error);
        }
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

/// Returns whether an error that is in the table of rejections is that of a run limit: the
/// operation has begun, and was too slow.
#[cfg(feature = "breaker")]
fn is_of_run_limit(error: &(dyn Error + 'static)) -> bool {
    find::<TimedOut>(error).is_some()
}

#[cfg(not(feature = "breaker"))]
fn is_of_run_limit(_: &(dyn Error + 'static)) -> bool {
    false
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
