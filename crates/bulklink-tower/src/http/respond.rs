//! Rejections as responses.

use std::hash::{BuildHasher, RandomState};
use std::process;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime};

use bulklink::runtime::Runtime;
use bulklink::{OwnedSlot, Reason, Rejection};
use bytes::Bytes;
use http::header::{self, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use serde_json::json;

use super::hold::{Held, HoldSlot, ShareSlot};
use super::{Body, HeldSlot, HoldBody};
use crate::admission::Deadline;
use crate::outcome::Outcome;
use crate::{BackpressureLayer, BulkheadLayer, DeadlinePassed};

/// Marks the response to a request that was not admitted; its value is the reason.
pub(crate) const REJECTED: HeaderName = HeaderName::from_static("bulklink-rejected");
/// As `Retry-After`, in milliseconds, for a client of gRPC.
pub(crate) const PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");
const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");

/// The protocol in which a request is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Problem details in the body.
    Http,
    /// The status in the headers.
    Grpc,
}

/// The form of the responses to rejected requests.
///
/// | the request | HTTP status | gRPC status |
/// | --- | --- | --- |
/// | found no free slot in time | 503, or [another](Responses::status) | `RESOURCE_EXHAUSTED` |
/// | came too late for its own deadline | 504 | `DEADLINE_EXCEEDED` |
/// | was admitted, and [cancelled](BulkheadLayer::cancel_at_deadline) at its deadline | 504 | `DEADLINE_EXCEEDED` |
/// | has a key for which there is no partition, nor room for one | 503 | `RESOURCE_EXHAUSTED` |
/// | came after the bulkhead was closed | 503 | `UNAVAILABLE` |
/// | costs more than the whole capacity | 413 | `INVALID_ARGUMENT` |
/// | costs zero, or has a key with invalid limits | 500 | `INTERNAL` |
///
/// The body is a problem (RFC 9457) with the reason and the label of the bulkhead; it has no
/// figures, and no key. A request with the content type of gRPC is answered in its way, in the
/// headers.
///
/// Where there is a rate to estimate it from, `Retry-After` says when a slot may be free: in whole
/// seconds, at least one. It is spread evenly from the estimate to twice that, so that clients that
/// were rejected together do not return together. For gRPC, it is `grpc-retry-pushback-ms`, in
/// milliseconds, and up to a second later.
#[derive(Clone, Debug)]
pub struct Responses {
    status: StatusCode,
    ceiling: Duration,
    attaches_rejections: bool,
}

/// Rejections are responses, and the slot is held until the response has been sent: for servers.
#[derive(Clone, Debug)]
pub struct Respond {
    templates: Arc<Templates>,
    /// Whether each request gets its slot among its extensions.
    is_shared: bool,
}

/// All that is the same in each response, made once.
#[derive(Debug)]
struct Templates {
    /// The longest estimate, in seconds.
    ceiling: u64,
    /// Whether the rejection is among the extensions of its response.
    attaches_rejections: bool,
    /// In the order of [`KINDS`].
    answers: Vec<Template>,
    /// The answer to a request that was cancelled at its deadline.
    cancelled: Template,
    /// The values of `Retry-After`, by seconds.
    seconds: Vec<HeaderValue>,
    /// The position of the next client in the range over which they are spread. It begins
    /// [anywhere](beginning), so that services that were started together do not go in step.
    turn: AtomicU32,
}

#[derive(Debug)]
struct Template {
    /// Whether a later request may be admitted. The headers then say when, by a value that each
    /// response replaces.
    is_temporary: bool,
    http: Response<Bytes>,
    grpc: Response<Bytes>,
}

/// A reason as the client sees it: its text, the status if it is fixed, and that of gRPC.
pub(super) struct Kind {
    pub(super) reason: Reason,
    detail: &'static str,
    status: Option<StatusCode>,
    grpc_status: u8,
}

/// One for each reason, and then the cases that share a reason but need another answer.
pub(super) const KINDS: [Kind; 9] = [
    kind(Reason::Saturated, "All slots are in use.", None, 8),
    kind(Reason::Expired, "No slot was free in time.", None, 8),
    kind(Reason::Closed, "The service is closing.", Some(StatusCode::SERVICE_UNAVAILABLE), 14),
    kind(Reason::Uncollected, "The service is overloaded.", None, 8),
    kind(
        Reason::PartitionLimit,
        "There are too many users at a time.",
        // Not the fault of the one whose limits these are.
        Some(StatusCode::SERVICE_UNAVAILABLE),
        8,
    ),
    kind(Reason::InvalidLimits, "The limits are invalid.", Some(StatusCode::INTERNAL_SERVER_ERROR), 13),
    kind(Reason::InvalidCost, "The cost is invalid.", Some(StatusCode::INTERNAL_SERVER_ERROR), 13),
    kind(Reason::InvalidCost, "The request is too large.", Some(StatusCode::PAYLOAD_TOO_LARGE), 3),
    kind(Reason::Expired, "The deadline was too close.", Some(StatusCode::GATEWAY_TIMEOUT), 4),
];
const TOO_LARGE: usize = 7;
const LATE: usize = 8;

/// The marks of the responses that this process makes, in the order of [`KINDS`]. Each has a buffer
/// of its own, which its clones share, and which distinguishes it from the mark of an upstream.
static MARKS: LazyLock<[HeaderValue; KINDS.len()]> =
    LazyLock::new(|| KINDS.map(|kind| HeaderValue::from_static(kind.reason.as_str().to_owned().leak())));

fn is_of_this_process(mark: &HeaderValue) -> bool {
    MARKS.iter().any(|own| ptr::eq(own.as_bytes(), mark.as_bytes()))
}

const fn kind(reason: Reason, detail: &'static str, status: Option<StatusCode>, grpc_status: u8) -> Kind {
    Kind { reason, detail, status, grpc_status }
}

impl Responses {
    /// Makes the default: the status 503, and at most a minute in `Retry-After`.
    #[must_use]
    pub const fn new() -> Self {
        Responses {
            status: StatusCode::SERVICE_UNAVAILABLE,
            ceiling: Duration::from_secs(60),
            attaches_rejections: false,
        }
    }

    /// Sets the status of requests that found no free slot in time: for tenants, for example,
    /// 429 Too Many Requests.
    #[must_use]
    pub const fn status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Sets the longest estimate; the `Retry-After` is at most twice that. It is rounded up to
    /// whole seconds, and is from one second to an hour.
    #[must_use]
    pub const fn longest_retry_after(mut self, longest: Duration) -> Self {
        self.ceiling = longest;
        self
    }

    /// Leaves the [`Rejection`] among the extensions of each response, and the
    /// [`DeadlinePassed`] of a request that was cancelled: for a layer outside that logs them. This
    /// costs three allocations.
    #[must_use]
    pub const fn attach_rejections(mut self) -> Self {
        self.attaches_rejections = true;
        self
    }
}

impl Default for Responses {
    fn default() -> Self {
        Responses::new()
    }
}

impl Templates {
    fn new(responses: &Responses, label: &str) -> Self {
        let ceiling = whole_seconds(responses.ceiling).min(3600);
        let answers = KINDS.iter().zip(&*MARKS).map(|(kind, mark)| Template::new(kind, mark, responses, label));
        Templates {
            ceiling,
            attaches_rejections: responses.attaches_rejections,
            cancelled: Template::cancelled(label),
            answers: answers.collect(),
            seconds: (0..=2 * ceiling).map(HeaderValue::from).collect(),
            turn: AtomicU32::new(beginning(&RandomState::new(), label, process::id(), SystemTime::now())),
        }
    }

    fn of(&self, rejection: &Rejection, is_late: bool) -> &Template {
        let kind = match rejection.reason() {
            Reason::Expired if is_late => LATE,
            Reason::InvalidCost if rejection.cost() > 0 => TOO_LARGE,
            reason => KINDS.iter().position(|kind| kind.reason == reason).unwrap_or(0),
        };
        &self.answers[kind]
    }

    /// Returns the time after which a client should come back, spread evenly from the estimate to
    /// twice that: in seconds, or for gRPC in milliseconds and up to a second more.
    fn wait(&self, protocol: Protocol, estimate: Duration) -> HeaderValue {
        let least = whole_seconds(estimate).min(self.ceiling);
        // The multiples of the golden ratio fill a range more evenly than random numbers do.
        let position = u64::from(self.turn.fetch_add(GOLDEN, Ordering::Relaxed));
        let spread = |length: u64| (position * length) >> u32::BITS;
        match protocol {
            Protocol::Http => {
                let value =
                    usize::try_from(least + spread(least + 1)).ok().and_then(|seconds| self.seconds.get(seconds));
                value.expect("it is at most twice the ceiling").clone()
            }
            Protocol::Grpc => HeaderValue::from(least * 1000 + spread((least + 1) * 1000)),
        }
    }
}

/// Returns where clients begin to be spread. Processes that are forked can share the seeds of the
/// hasher, so their number and the time go into it too.
fn beginning(hasher: &impl BuildHasher, label: &str, process: u32, now: SystemTime) -> u32 {
    let hash = hasher.hash_one((label, process, now));
    u32::try_from(hash >> u32::BITS).unwrap_or(0)
}

/// The fraction of the golden ratio, of 2^32.
const GOLDEN: u32 = 0x9e37_79b9;

/// Rounds up to whole seconds, at least one.
fn whole_seconds(time: Duration) -> u64 {
    time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0)).max(1)
}

impl Template {
    fn new(kind: &Kind, mark: &HeaderValue, responses: &Responses, label: &str) -> Self {
        let status = kind.status.unwrap_or(responses.status);
        let problem = json!({
            "title": "Not admitted",
            "status": status.as_u16(),
            "detail": kind.detail,
            "reason": kind.reason.as_str(),
            "label": label,
        });
        let is_temporary = kind.status.is_none();
        let mut http = http(status, &problem);
        let mut grpc = grpc(kind.grpc_status, label, kind.detail);
        for (answer, when) in [(&mut http, header::RETRY_AFTER), (&mut grpc, PUSHBACK)] {
            answer.headers_mut().insert(REJECTED, mark.clone());
            if is_temporary {
                answer.headers_mut().insert(when, HeaderValue::from_static("1"));
            }
        }
        Template { is_temporary, http, grpc }
    }

    /// The answer to a request that was admitted, and cancelled at its deadline.
    fn cancelled(label: &str) -> Self {
        const TITLE: &str = "The deadline has passed";
        let status = StatusCode::GATEWAY_TIMEOUT;
        let problem = json!({ "title": TITLE, "status": status.as_u16(), "label": label });
        Template { is_temporary: false, http: http(status, &problem), grpc: grpc(4, label, TITLE) }
    }
}

fn http(status: StatusCode, problem: &serde_json::Value) -> Response<Bytes> {
    let mut response = Response::new(problem.to_string().into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    response
}

fn grpc(status: u8, label: &str, message: &str) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert(GRPC_STATUS, HeaderValue::from(u16::from(status)));
    headers.insert(GRPC_MESSAGE, grpc_message(label, message));
    response
}

/// Returns a message of gRPC, which is percent-encoded.
fn grpc_message(label: &str, text: &str) -> HeaderValue {
    let encode = |byte| match byte {
        b' '..=b'~' if byte != b'%' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    let message: String = format!("{label}: {text}").bytes().map(encode).collect();
    HeaderValue::try_from(message).expect("it is visible ASCII")
}

impl Respond {
    fn new(responses: &Responses, label: &str) -> Self {
        Respond { templates: Arc::new(Templates::new(responses, label)), is_shared: false }
    }

    #[inline]
    fn response<B: http_body::Body>(
        &self,
        protocol: Protocol,
        template: &Template,
        estimate: Option<Duration>,
    ) -> Response<Body<B>> {
        let (answer, when) = match protocol {
            Protocol::Http => (&template.http, header::RETRY_AFTER),
            Protocol::Grpc => (&template.grpc, PUSHBACK),
        };
        let mut response = answer.clone();
        let headers = response.headers_mut();
        match (headers.get_mut(&when), estimate) {
            (Some(value), Some(estimate)) => *value = self.templates.wait(protocol, estimate),
            (Some(_), None) => drop(headers.remove(when)),
            (None, _) => {}
        }
        response.map(Body::rejection)
    }
}

/// Returns whether this is gRPC, but not gRPC-Web, whose status is in the body.
fn is_grpc(content_type: &[u8]) -> bool {
    const NAME: &[u8] = b"application/grpc";
    content_type.split_at_checked(NAME.len()).is_some_and(|(name, rest)| {
        name.eq_ignore_ascii_case(NAME) && matches!(rest.first(), None | Some(b'+' | b';' | b' '))
    })
}

impl<T, B: http_body::Body, E> Outcome<http::Request<T>, Response<B>, E> for Respond {
    type Response = Response<Body<B>>;
    type Error = E;
    type Held = Held;
    type Protocol = Protocol;

    fn protocol(&self, request: &http::Request<T>) -> Protocol {
        let content_type = request.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
        if content_type.is_some_and(is_grpc) { Protocol::Grpc } else { Protocol::Http }
    }

    fn deadline(&self, request: &http::Request<T>) -> Option<Deadline> {
        ShareSlot::deadline(request)
    }

    fn leave_deadline(&self, request: &mut http::Request<T>, deadline: Deadline) {
        ShareSlot::leave_deadline(request, deadline);
    }

    fn admitted(&self, request: &mut http::Request<T>, slot: OwnedSlot) -> Held {
        request.share(slot, self.is_shared)
    }

    fn exempted(&self, request: &mut http::Request<T>) {
        if self.is_shared {
            let outer = request.extensions_mut().remove();
            request.extensions_mut().insert(HeldSlot::new(None, outer));
        }
    }

    fn answered(mut response: Response<B>, held: Option<Held>) -> Response<Body<B>> {
        // A rejection by an upstream is no rejection by this service, which has begun to work.
        let has_foreign_mark = response.headers().get(REJECTED).is_some_and(|mark| !is_of_this_process(mark));
        if has_foreign_mark && response.extensions().get::<Rejection>().is_none() {
            response.headers_mut().remove(REJECTED);
        }
        response.hold(held)
    }

    fn failed(error: E) -> E {
        error
    }

    #[inline]
    fn rejected(
        &self,
        request: &http::Request<T>,
        rejection: Rejection,
        is_late: bool,
        estimated_wait: impl FnOnce() -> Option<Duration>,
    ) -> Result<Response<Body<B>>, E> {
        let template = self.templates.of(&rejection, is_late);
        let estimate = if template.is_temporary { estimated_wait() } else { None };
        let protocol = Outcome::<_, Response<B>, E>::protocol(self, request);
        let mut response = self.response(protocol, template, estimate);
        if self.templates.attaches_rejections {
            response.extensions_mut().insert(rejection);
        }
        Ok(response)
    }

    fn cancelled(&self, protocol: Protocol, error: DeadlinePassed) -> Result<Response<Body<B>>, E> {
        let mut response = self.response(protocol, &self.templates.cancelled, None);
        if self.templates.attaches_rejections {
            response.extensions_mut().insert(error);
        }
        Ok(response)
    }
}

impl<Q, R: Runtime> BulkheadLayer<Q, R> {
    /// Answers rejected requests with the default [`Responses`], and holds each slot until the
    /// response's body has ended: for servers.
    #[must_use]
    pub fn respond(self) -> BulkheadLayer<Q, R, Respond> {
        self.respond_with(&Responses::new())
    }

    /// Answers rejected requests with these responses, and holds each slot until the response's
    /// body has ended: for servers.
    #[must_use]
    pub fn respond_with(self, responses: &Responses) -> BulkheadLayer<Q, R, Respond> {
        self.with_outcome(|label| Respond::new(responses, label))
    }

    /// Holds each slot until the response's body has been read or dropped: for clients.
    #[must_use]
    pub fn hold_body(self) -> BulkheadLayer<Q, R, HoldBody> {
        self.with_outcome(|_| HoldBody)
    }
}

impl<Q, R: Runtime> BulkheadLayer<Q, R, Respond> {
    /// Leaves the slot of each request among its extensions, as a [`HeldSlot`](super::HeldSlot),
    /// which costs an allocation: for services whose work may go on after the response has been
    /// sent, such as a thread that cannot be stopped.
    #[must_use]
    pub fn share_slot(self) -> Self {
        self.map_outcome(|respond| Respond { is_shared: true, ..respond })
    }
}

impl<Q, R: Runtime> BackpressureLayer<Q, R> {
    /// Answers rejected requests as [`BulkheadLayer::respond_with`] does.
    #[must_use]
    pub fn respond_with(self, responses: &Responses) -> BackpressureLayer<Q, R, Respond> {
        self.with_outcome(|label| Respond::new(responses, label))
    }

    /// Holds each slot until the response's body has been read or dropped: for clients.
    #[must_use]
    pub fn hold_body(self) -> BackpressureLayer<Q, R, HoldBody> {
        self.with_outcome(|_| HoldBody)
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasherDefault, DefaultHasher};

    use super::*;

    #[test]
    fn forked_processes_with_the_same_seeds_begin_to_spread_clients_at_different_places() {
        let seeds = BuildHasherDefault::<DefaultHasher>::default();
        let now = SystemTime::UNIX_EPOCH;
        let later = now + Duration::from_millis(1);
        let beginnings = [("a", 1, now), ("a", 2, now), ("a", 1, later), ("b", 1, now)]
            .map(|(label, process, now)| beginning(&seeds, label, process, now));
        for (place, beginning) in beginnings.iter().enumerate() {
            assert!(!beginnings[..place].contains(beginning), "{beginnings:?}");
        }
    }
}
