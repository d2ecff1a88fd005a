//! The parts of responses that are the same for each, made once.

use std::hash::{BuildHasher, RandomState};
use std::process;
use std::ptr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use bulklink::{Reason, Rejection};
use bytes::Bytes;
use http::header::{self, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use serde_json::json;

use super::Responses;

/// Marks the response to a request that was not admitted; its value is the reason.
pub(super) const REJECTED: HeaderName = HeaderName::from_static("bulklink-rejected");
/// As `Retry-After`, in milliseconds, for a client of gRPC.
pub(super) const PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");
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

/// All that is the same in each response, made once.
#[derive(Debug)]
pub(super) struct Templates {
    /// The longest estimate, in seconds.
    ceiling: u64,
    /// Whether the rejection is among the extensions of its response.
    pub(super) attaches_rejections: bool,
    /// In the order of [`KINDS`].
    answers: Vec<Template>,
    /// The answer to a request that was cancelled at its deadline.
    pub(super) cancelled: Template,
    /// That to one for which a circuit is open.
    #[cfg(feature = "breaker")]
    pub(super) open: Template,
    /// That to one after its run limit.
    #[cfg(feature = "breaker")]
    pub(super) timed_out: Template,
    /// The values of `Retry-After`, by seconds.
    seconds: Vec<HeaderValue>,
    /// The position of the next client in the range over which they are spread. It begins
    /// [anywhere](beginning), so that services that were started together do not go in step.
    turn: AtomicU32,
}

#[derive(Debug)]
pub(super) struct Template {
    /// Whether a later request may be admitted. The headers then have the time, in a value that
    /// each response replaces.
    pub(super) is_temporary: bool,
    pub(super) http: Response<Bytes>,
    pub(super) grpc: Response<Bytes>,
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
        // Not the fault of the owner of these limits.
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
static MARKS: LazyLock<[HeaderValue; KINDS.len()]> = LazyLock::new(|| KINDS.map(|kind| mark(kind.reason.as_str())));

/// The mark of the responses for which a circuit is open.
#[cfg(feature = "breaker")]
static OPEN_MARK: LazyLock<HeaderValue> = LazyLock::new(|| mark("open_circuit"));

fn mark(reason: &str) -> HeaderValue {
    HeaderValue::from_static(reason.to_owned().leak())
}

pub(super) fn is_of_this_process(mark: &HeaderValue) -> bool {
    #[cfg(feature = "breaker")]
    if ptr::eq(OPEN_MARK.as_bytes(), mark.as_bytes()) {
        return true;
    }
    MARKS.iter().any(|own| ptr::eq(own.as_bytes(), mark.as_bytes()))
}

const fn kind(reason: Reason, detail: &'static str, status: Option<StatusCode>, grpc_status: u8) -> Kind {
    Kind { reason, detail, status, grpc_status }
}

impl Templates {
    pub(super) fn new(responses: &Responses, label: &str) -> Self {
        let ceiling = whole_seconds(responses.ceiling).min(3600);
        let answers = KINDS.iter().zip(&*MARKS).map(|(kind, mark)| Template::new(kind, mark, responses.status, label));
        Templates {
            ceiling,
            attaches_rejections: responses.attaches_rejections,
            cancelled: Template::late(label, "The deadline has passed"),
            #[cfg(feature = "breaker")]
            open: Template::open(label),
            #[cfg(feature = "breaker")]
            timed_out: Template::late(label, "The run limit has passed"),
            answers: answers.collect(),
            seconds: (0..=2 * ceiling).map(HeaderValue::from).collect(),
            turn: AtomicU32::new(beginning(&RandomState::new(), label, process::id(), SystemTime::now())),
        }
    }

    pub(super) fn of(&self, rejection: &Rejection) -> &Template {
        let kind = match rejection.reason() {
            Reason::Expired if rejection.is_by_deadline() => LATE,
            Reason::InvalidCost if rejection.cost() > 0 => TOO_LARGE,
            reason => KINDS.iter().position(|kind| kind.reason == reason).unwrap_or(0),
        };
        &self.answers[kind]
    }

    /// Returns the time after which a client should come back, spread evenly from the estimate to
    /// twice that: in seconds, or for gRPC in milliseconds and up to a second more.
    pub(super) fn wait(&self, protocol: Protocol, estimate: Duration) -> HeaderValue {
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
    fn new(kind: &Kind, mark: &HeaderValue, status: StatusCode, label: &str) -> Self {
        let is_temporary = kind.status.is_none();
        let status = kind.status.unwrap_or(status);
        Template::not_admitted(mark, status, kind.grpc_status, kind.detail, label, is_temporary)
    }

    /// The answer to a request for which the circuit is open.
    #[cfg(feature = "breaker")]
    fn open(label: &str) -> Self {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Template::not_admitted(&OPEN_MARK, status, 14, "The circuit is open.", label, true)
    }

    fn not_admitted(
        mark: &HeaderValue,
        status: StatusCode,
        grpc_status: u8,
        detail: &str,
        label: &str,
        is_temporary: bool,
    ) -> Self {
        let problem = json!({
            "title": "Not admitted",
            "status": status.as_u16(),
            "detail": detail,
            "reason": mark.to_str().unwrap_or_default(),
            "label": label,
        });
        let mut http = http(status, &problem);
        let mut grpc = grpc(grpc_status, label, detail);
        for (answer, when) in [(&mut http, header::RETRY_AFTER), (&mut grpc, PUSHBACK)] {
            answer.headers_mut().insert(REJECTED, mark.clone());
            if is_temporary {
                answer.headers_mut().insert(when, HeaderValue::from_static("1"));
            }
        }
        Template { is_temporary, http, grpc }
    }

    /// The answer to a request that was admitted, and was not over in time.
    fn late(label: &str, title: &str) -> Self {
        let status = StatusCode::GATEWAY_TIMEOUT;
        let problem = json!({ "title": title, "status": status.as_u16(), "label": label });
        Template { is_temporary: false, http: http(status, &problem), grpc: grpc(4, label, title) }
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

/// Returns whether this is gRPC, but not gRPC-Web, which has its status in the body.
pub(super) fn is_grpc(content_type: &[u8]) -> bool {
    const NAME: &[u8] = b"application/grpc";
    content_type.split_at_checked(NAME.len()).is_some_and(|(name, rest)| {
        name.eq_ignore_ascii_case(NAME) && matches!(rest.first(), None | Some(b'+' | b';' | b' '))
    })
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
