//! Responses of HTTP by their status.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, StatusCode};

use super::Classify;
use crate::Outcome;

/// The mark of a response that a bulkhead of the upstream has made.
const REJECTED: HeaderName = HeaderName::from_static("bulklink-rejected");

/// Counts responses of HTTP by their status, and each error as a failure.
///
/// It classifies [`http::Response`] and, with the feature `reqwest`, the responses of reqwest; the
/// error can be any.
///
/// | the result | counts as |
/// | --- | --- |
/// | an error | failure |
/// | 5xx, and 408 Request Timeout | failure |
/// | 429 Too Many Requests | nothing |
/// | any status with the header `bulklink-rejected` | nothing |
/// | all others, such as 200, 304, 404 | success |
///
/// - 503 asks for fewer calls, also with `Retry-After`. 408 is often the answer of a proxy that has
///   waited for the dependency.
/// - 429 means that this caller asks too often, and the dependency works; an open circuit would
///   stop the callers that may ask, too.
/// - With `bulklink-rejected`, a bulkhead or a circuit before the dependency has refused this
///   request alone.
/// - A mistake of the caller, such as 404, is an answer.
///
/// What counts as nothing neither opens nor closes a circuit. [`count`](ByHttpStatus::count)
/// changes the outcome of a status, and a closure that calls this changes anything else.
///
/// gRPC has its status in trailers, and 200 before them: this counts it as a success.
///
/// ```
/// use bulklink_breaker::{ByHttpStatus, Guard, Outcome};
/// use bulklink_tokio::{Bulkhead, InvalidArgument, Tokio};
/// use http::StatusCode;
///
/// struct Accounts {
///     guard: Guard<Tokio, ByHttpStatus>,
/// }
///
/// fn accounts(bulkhead: &Bulkhead) -> Result<Accounts, InvalidArgument> {
///     // For this dependency, 429 is as bad as 503.
///     let by_status = ByHttpStatus::new()
///         .count(StatusCode::TOO_MANY_REQUESTS, Outcome::Failure);
///     let guard = Guard::builder(bulkhead).classify(by_status).build()?;
///     Ok(Accounts { guard })
/// }
/// # let bulkhead = Bulkhead::builder("accounts").parallelism(2).build().unwrap();
/// # use bulklink_breaker::Settings;
/// # let accounts = accounts(&bulkhead)?;
/// # for _ in 0..5 {
/// #     let slow_down = http::Response::builder().status(429).body(()).unwrap();
/// #     accounts.guard.blocking_execute(|| Ok::<_, ()>(slow_down)).unwrap();
/// # }
/// # assert!(!accounts.guard.health().is_healthy());
/// # Ok::<(), InvalidArgument>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ByHttpStatus {
    changed: Arc<Vec<(StatusCode, Outcome)>>,
}

impl ByHttpStatus {
    /// Counts as in the table.
    #[must_use]
    pub fn new() -> Self {
        ByHttpStatus::default()
    }

    /// Counts responses with this status as this outcome, also those that a bulkhead has made.
    #[must_use]
    pub fn count(mut self, status: StatusCode, outcome: Outcome) -> Self {
        let changed = Arc::make_mut(&mut self.changed);
        changed.retain(|(other, _)| *other != status);
        changed.push((status, outcome));
        self
    }

    fn outcome(&self, status: StatusCode, headers: &HeaderMap) -> Outcome {
        if let Some((_, outcome)) = self.changed.iter().find(|(changed, _)| *changed == status) {
            return *outcome;
        }
        match status {
            StatusCode::TOO_MANY_REQUESTS => Outcome::Ignore,
            _ if headers.contains_key(REJECTED) => Outcome::Ignore,
            StatusCode::REQUEST_TIMEOUT => Outcome::Failure,
            _ if status.is_server_error() => Outcome::Failure,
            _ => Outcome::Success,
        }
    }
}

impl<B, E> Classify<http::Response<B>, E> for ByHttpStatus {
    fn classify(&self, result: &Result<http::Response<B>, E>) -> Outcome {
        let Ok(response) = result else { return Outcome::Failure };
        self.outcome(response.status(), response.headers())
    }
}

#[cfg(feature = "reqwest")]
impl<E> Classify<reqwest::Response, E> for ByHttpStatus {
    fn classify(&self, result: &Result<reqwest::Response, E>) -> Outcome {
        let Ok(response) = result else { return Outcome::Failure };
        self.outcome(response.status(), response.headers())
    }
}
