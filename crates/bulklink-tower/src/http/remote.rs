//! The rejections of an upstream, found in its responses.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use bulklink::Reason;
use http::{HeaderMap, HeaderName, header};

use super::headers;
use super::templates::{KINDS, PUSHBACK, REJECTED};

/// As `Retry-After`, in milliseconds: some services send it.
const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");

/// A rejection by a bulkhead of the service that was called, found in the headers of its response:
/// the service has not begun to work on the request.
///
/// It distinguishes such a response from a failure of the service: a request that was rejected can
/// be sent again, also if it is not idempotent, and does not count for a circuit breaker as a
/// failed one does.
///
/// The header `bulklink-rejected` is as trustworthy as the upstream. A proxy passes it on, so the
/// bulkhead may be that of a service behind the one that was called, which then has worked on the
/// request. A gateway that must not pass it on removes it.
///
/// ```
/// use bulklink_tower::http::RemoteRejection;
/// use bulklink_tokio::Reason;
/// use std::time::Duration;
///
/// let response = http::Response::builder()
///     .status(503)
///     .header("bulklink-rejected", "saturated")
///     .header("retry-after", "2")
///     .body(())?;
/// let found = RemoteRejection::from_headers(response.headers());
/// let rejection = found.expect("the header is there");
/// assert_eq!(rejection.reason(), Some(Reason::Saturated));
/// assert_eq!(rejection.retry_after(), Some(Duration::from_secs(2)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteRejection {
    reason: String,
    retry_after: Option<Duration>,
}

impl RemoteRejection {
    /// Returns the rejection in these headers of a response, or `None` if they have
    /// none. For a gRPC response, they are the metadata of its status.
    #[must_use]
    pub fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let reason = headers.get(REJECTED)?.to_str().ok()?.to_owned();
        Some(RemoteRejection { reason, retry_after: time_to_wait(headers) })
    }

    /// Returns the reason. `None` for an open circuit, which rejects as no bulkhead does, and for a
    /// reason that this version does not know: the [text](RemoteRejection::reason_text) has it.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        KINDS.iter().filter_map(|kind| kind.reason).find(|reason| reason.as_str() == self.reason)
    }

    /// Returns the reason as it is in the header.
    #[must_use]
    pub fn reason_text(&self) -> &str {
        &self.reason
    }

    /// Returns how long the client is asked to wait before it tries again, if the upstream asks it
    /// to: in `retry-after-ms`, `grpc-retry-pushback-ms`, or the seconds of `Retry-After`,
    /// whichever comes first in this order and is a number. A `Retry-After` that is a date is none.
    ///
    /// It is the upstream's figure, without an upper limit.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}

/// Returns how long the sender of these headers asks to wait, in the most precise form.
pub(super) fn time_to_wait(headers: &HeaderMap) -> Option<Duration> {
    let millis = |name| number(headers, &name).map(Duration::from_millis);
    millis(RETRY_AFTER_MS)
        .or_else(|| millis(PUSHBACK))
        .or_else(|| number(headers, &header::RETRY_AFTER).map(Duration::from_secs))
}

fn number(headers: &HeaderMap, name: &HeaderName) -> Option<u64> {
    headers::number(headers.get(name)?.as_bytes())
}

impl fmt::Display for RemoteRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rejected by the upstream: {}", self.reason)?;
        match self.retry_after {
            Some(time) => write!(f, ", which asks to wait for {time:?}"),
            None => Ok(()),
        }
    }
}

impl Error for RemoteRejection {}
