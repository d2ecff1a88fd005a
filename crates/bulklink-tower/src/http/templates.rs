//! The parts of responses that are the same for each, made once.

use std::error::Error;
use std::hash::{BuildHasher, RandomState};
use std::process;
use std::ptr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use bulklink::{Reason, Rejection};
#[cfg(feature = "breaker")]
use bulklink_breaker::{OpenCircuit, State, TimedOut};
use bytes::Bytes;
use http::header::{self, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use serde_json::{Value, json};

use super::Responses;
use crate::DeadlinePassed;
use crate::rejection::find;

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
    /// Where there is no estimate.
    fallback: Duration,
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
    /// If it is not `Never`, the headers have a time, in a value that each response replaces.
    pub(super) retry: Retry,
    pub(super) http: Response<Bytes>,
    pub(super) grpc: Response<Bytes>,
}

/// Whether and when a later request may be admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retry {
    Never,
    /// By another process or in another state, at a time that is not known.
    Some,
    /// At a time that the bulkhead may know.
    Estimated,
}

/// A reason as the client sees it: its text, the status if it is fixed, and that of gRPC.
pub(super) struct Kind {
    /// `None` if it is [`UNAVAILABLE`].
    pub(super) reason: Option<Reason>,
    detail: &'static str,
    status: Option<StatusCode>,
    grpc_status: u8,
    retry: Retry,
}

/// One for each reason, and then the cases that share a reason but need another answer.
pub(super) const KINDS: [Kind; 11] = [
    kind(Reason::Saturated, "All slots are in use.", None, 8, Retry::Estimated),
    kind(Reason::Displaced, "All slots are in use.", None, 8, Retry::Estimated),
    kind(Reason::Expired, "No slot was free in time.", None, 8, Retry::Estimated),
    kind(Reason::Closed, "The service is closing.", Some(StatusCode::SERVICE_UNAVAILABLE), 14, Retry::Some),
    kind(Reason::Uncollected, "The service is overloaded.", None, 8, Retry::Estimated),
    kind(
        Reason::PartitionLimit,
        "There are too many users at a time.",
        // Not the fault of the owner of these limits.
        Some(StatusCode::SERVICE_UNAVAILABLE),
        8,
        Retry::Some,
    ),
    kind(Reason::InvalidLimits, "The limits are invalid.", Some(StatusCode::INTERNAL_SERVER_ERROR), 13, Retry::Never),
    kind(Reason::InvalidCost, "The cost is invalid.", Some(StatusCode::INTERNAL_SERVER_ERROR), 13, Retry::Never),
    kind(Reason::InvalidCost, "The request is too large.", Some(StatusCode::PAYLOAD_TOO_LARGE), 3, Retry::Never),
    kind(Reason::Expired, "The deadline was too close.", Some(StatusCode::GATEWAY_TIMEOUT), 4, Retry::Never),
    Kind {
        reason: None,
        detail: "The service is not available.",
        status: Some(StatusCode::SERVICE_UNAVAILABLE),
        grpc_status: 14,
        retry: Retry::Some,
    },
];
/// The longest estimate that can be set, in seconds.
const LONGEST: u64 = 3600;

const TOO_LARGE: usize = 8;
const LATE: usize = 9;
const UNAVAILABLE: usize = 10;

/// The marks of the responses that this process makes, in the order of [`KINDS`]. Each has a buffer
/// of its own, which its clones share, and which distinguishes it from the mark of an upstream.
static MARKS: LazyLock<[HeaderValue; KINDS.len()]> = LazyLock::new(|| KINDS.map(|kind| mark(kind.name())));

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

const fn kind(reason: Reason, detail: &'static str, status: Option<StatusCode>, grpc_status: u8, retry: Retry) -> Kind {
    Kind { reason: Some(reason), detail, status, grpc_status, retry }
}

impl Kind {
    pub(super) fn name(&self) -> &'static str {
        self.reason.map_or("unavailable", Reason::as_str)
    }
}

/// Returns the place of the rejection in [`KINDS`].
fn kind_of(rejection: &Rejection) -> usize {
    match rejection.reason() {
        // Not the load has filled it: its controller can grant nothing now.
        Reason::Saturated | Reason::Expired if rejection.source().is_some() && grants_nothing(rejection) => UNAVAILABLE,
        Reason::Expired if rejection.is_by_deadline() => LATE,
        Reason::InvalidCost if rejection.cost() > 0 => TOO_LARGE,
        reason => KINDS.iter().position(|kind| kind.reason == Some(reason)).unwrap_or(0),
    }
}

fn grants_nothing(rejection: &Rejection) -> bool {
    rejection.restriction().is_some_and(|restriction| restriction.units == 0)
}

impl Templates {
    pub(super) fn new(responses: &Responses, label: &str) -> Self {
        let ceiling = whole_seconds(responses.ceiling).min(LONGEST);
        let answers = (0..KINDS.len()).map(|kind| Template::of_kind(kind, responses.status, label));
        Templates {
            ceiling,
            fallback: responses.fallback,
            attaches_rejections: responses.attaches_rejections,
            cancelled: Template::cancelled(label),
            #[cfg(feature = "breaker")]
            open: Template::open(label),
            #[cfg(feature = "breaker")]
            timed_out: Template::timed_out(label),
            answers: answers.collect(),
            seconds: (0..=2 * ceiling).map(HeaderValue::from).collect(),
            turn: AtomicU32::new(beginning(&RandomState::new(), label, process::id(), SystemTime::now())),
        }
    }

    /// Returns the template, or if that depends on the figures of the rejection, one for this
    /// alone.
    #[inline]
    pub(super) fn of(&self, rejection: &Rejection) -> Result<&Template, Box<Template>> {
        match kind_of(rejection) {
            TOO_LARGE => Err(Box::new(Template::too_large(rejection))),
            kind => Ok(&self.answers[kind]),
        }
    }

    /// Returns when a client should come back, in the best case.
    #[inline]
    pub(super) fn earliest(&self, retry: Retry, estimated_wait: impl FnOnce() -> Option<Duration>) -> Option<Duration> {
        match retry {
            Retry::Estimated => Some(estimated_wait().unwrap_or(self.fallback)),
            Retry::Some => Some(self.fallback),
            Retry::Never => None,
        }
    }

    /// Returns the time after which a client should come back, spread evenly from the estimate to
    /// twice that: in seconds, or for gRPC in milliseconds and up to a second more.
    pub(super) fn wait(&self, protocol: Protocol, estimate: Duration) -> HeaderValue {
        let number = spread(protocol, whole_seconds(estimate).min(self.ceiling), &self.turn);
        match protocol {
            Protocol::Http => {
                let value = usize::try_from(number).ok().and_then(|seconds| self.seconds.get(seconds));
                value.expect("it is at most twice the ceiling").clone()
            }
            Protocol::Grpc => HeaderValue::from(number),
        }
    }
}

/// Returns a time from `least` seconds to twice that, in the unit of the protocol.
#[inline]
fn spread(protocol: Protocol, least: u64, turn: &AtomicU32) -> u64 {
    // The multiples of the golden ratio fill a range more evenly than random numbers do.
    let position = u64::from(turn.fetch_add(GOLDEN, Ordering::Relaxed));
    let spread = |length: u64| (position * length) >> u32::BITS;
    match protocol {
        Protocol::Http => least + spread(least + 1),
        Protocol::Grpc => least * 1000 + spread((least + 1) * 1000),
    }
}

/// The position of the next client whose response has no templates of its own.
static TURN: LazyLock<AtomicU32> =
    LazyLock::new(|| AtomicU32::new(beginning(&RandomState::new(), "", process::id(), SystemTime::now())));

impl Responses {
    /// Makes the response to an error of this process that has been found in one of a handler.
    pub(super) fn make(&self, protocol: Protocol, error: &(dyn Error + 'static)) -> Option<Response<Bytes>> {
        let (template, wait) = self.find(error)?;
        let mut response = match protocol {
            Protocol::Http => template.http,
            Protocol::Grpc => template.grpc,
        };
        if template.retry != Retry::Never {
            let name = protocol.when();
            match wait {
                Some(wait) => {
                    let least = whole_seconds(wait).min(whole_seconds(self.ceiling).min(LONGEST));
                    response.headers_mut().insert(name, spread(protocol, least, &TURN).into());
                }
                None => _ = response.headers_mut().remove(name),
            }
        }
        Some(response)
    }

    fn find(&self, error: &(dyn Error + 'static)) -> Option<(Template, Option<Duration>)> {
        if let Some(rejection) = find::<Rejection>(error) {
            return Some(match kind_of(rejection) {
                TOO_LARGE => (Template::too_large(rejection), None),
                kind => (Template::of_kind(kind, self.status, rejection.label()), Some(self.fallback)),
            });
        }
        #[cfg(feature = "breaker")]
        if let Some(open) = find::<OpenCircuit>(error) {
            return Some((Template::open(&open.label), after(open)));
        }
        #[cfg(feature = "breaker")]
        if let Some(timed_out) = find::<TimedOut>(error) {
            return Some((Template::timed_out(&timed_out.label), None));
        }
        find::<DeadlinePassed>(error).map(|passed| (Template::cancelled(passed.label()), None))
    }
}

/// Returns when a circuit may let a call through, if that does not need a hand.
#[cfg(feature = "breaker")]
pub(super) fn after(open: &OpenCircuit) -> Option<Duration> {
    /// Probes are running, and usually end soon.
    const SOON: Duration = Duration::from_secs(1);
    open.retry_after.or_else(|| (open.state == State::HalfOpen).then_some(SOON))
}

impl Protocol {
    /// Returns the header with the time after which a client should come back.
    pub(super) const fn when(self) -> HeaderName {
        match self {
            Protocol::Http => header::RETRY_AFTER,
            Protocol::Grpc => PUSHBACK,
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
    fn of_kind(kind: usize, status: StatusCode, label: &str) -> Self {
        let (mark, kind) = (&MARKS[kind], &KINDS[kind]);
        let status = kind.status.unwrap_or(status);
        let problem = not_admitted(mark, status, kind.detail, label);
        Template::not_admitted(mark, &problem, status, kind.grpc_status, kind.detail, label, kind.retry)
    }

    /// The answer to a request that costs more than can ever be admitted, with the most that can.
    #[cold]
    fn too_large(rejection: &Rejection) -> Self {
        let (mark, kind, label) = (&MARKS[TOO_LARGE], &KINDS[TOO_LARGE], rejection.label());
        let (cost, capacity) = (rejection.cost(), rejection.occupancy().capacity());
        let detail = format!("{} It costs {cost}, and at most {capacity} are allowed.", kind.detail);
        let mut problem = not_admitted(mark, StatusCode::PAYLOAD_TOO_LARGE, &detail, label);
        (problem["cost"], problem["allowed"]) = (cost.into(), capacity.into());
        Template::not_admitted(
            mark,
            &problem,
            StatusCode::PAYLOAD_TOO_LARGE,
            kind.grpc_status,
            &detail,
            label,
            kind.retry,
        )
    }

    /// The answer to a request for which the circuit is open.
    #[cfg(feature = "breaker")]
    fn open(label: &str) -> Self {
        let (status, detail) = (StatusCode::SERVICE_UNAVAILABLE, "The circuit is open.");
        let problem = not_admitted(&OPEN_MARK, status, detail, label);
        Template::not_admitted(&OPEN_MARK, &problem, status, 14, detail, label, Retry::Estimated)
    }

    fn not_admitted(
        mark: &HeaderValue,
        problem: &Value,
        status: StatusCode,
        grpc_status: u8,
        detail: &str,
        label: &str,
        retry: Retry,
    ) -> Self {
        let mut http = http(status, problem);
        let mut grpc = grpc(grpc_status, label, detail);
        for (answer, protocol) in [(&mut http, Protocol::Http), (&mut grpc, Protocol::Grpc)] {
            answer.headers_mut().insert(REJECTED, mark.clone());
            if retry != Retry::Never {
                // Last, where each response finds it to be replaced.
                answer.headers_mut().insert(protocol.when(), HeaderValue::from_static("1"));
            }
        }
        Template { retry, http, grpc }
    }

    fn cancelled(label: &str) -> Self {
        Template::late(label, "The deadline has passed", "deadline_passed")
    }

    #[cfg(feature = "breaker")]
    fn timed_out(label: &str) -> Self {
        Template::late(label, "The run limit has passed", "timed_out")
    }

    /// The answer to a request that was admitted, and was not over in time.
    fn late(label: &str, title: &str, reason: &str) -> Self {
        let status = StatusCode::GATEWAY_TIMEOUT;
        let problem = json!({ "title": title, "status": status.as_u16(), "reason": reason, "label": label });
        Template { retry: Retry::Never, http: http(status, &problem), grpc: grpc(4, label, title) }
    }
}

fn not_admitted(mark: &HeaderValue, status: StatusCode, detail: &str, label: &str) -> Value {
    json!({
        "title": "Not admitted",
        "status": status.as_u16(),
        "detail": detail,
        "reason": mark.to_str().unwrap_or_default(),
        "label": label,
    })
}

fn http(status: StatusCode, problem: &Value) -> Response<Bytes> {
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
