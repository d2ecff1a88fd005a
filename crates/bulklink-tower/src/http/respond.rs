//! Rejections as responses.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use bulklink::limit;
use bulklink::runtime::Runtime;
use bulklink::{OwnedSlot, Rejection};
use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::{Response, StatusCode};

use super::hold::{Held, HoldSlot, ShareSlot, load};
use super::templates::{Protocol, REJECTED, Retry, Template, Templates, is_grpc, is_of_this_process};
use super::{Body, HeldSlot, HoldBody, TimeoutHeader};
use crate::admission::Extension;
use crate::deadline::{Deadline, RequestClock};
use crate::outcome::Outcome;
use crate::{BackpressureLayer, BulkheadLayer, DeadlinePassed};

/// The form of the responses to rejected requests.
///
/// | the request | HTTP status | gRPC status |
/// | --- | --- | --- |
/// | found no free slot in time | 503, or [another](Responses::status) | `RESOURCE_EXHAUSTED` |
/// | came too late for its own deadline | 504 | `DEADLINE_EXCEEDED` |
/// | came while the circuit of a [guard](Responses#guards) was open | 503 | `UNAVAILABLE` |
/// | ran longer than the run limit of a guard | 504 | `DEADLINE_EXCEEDED` |
/// | was admitted, and [cancelled](BulkheadLayer::cancel_at_deadline) at its deadline | 504 | `DEADLINE_EXCEEDED` |
/// | has a key for which there is no partition, nor room for one | 503 | `RESOURCE_EXHAUSTED` |
/// | came after the bulkhead was closed | 503 | `UNAVAILABLE` |
/// | found no free slot, as a ceiling of zero has a [cause](std::error::Error::source) | 503 | `UNAVAILABLE` |
/// | costs more than the whole capacity | 413 | `INVALID_ARGUMENT` |
/// | costs zero, or has a key with invalid limits | 500 | `INTERNAL` |
///
/// The cause is that of a [ceiling](bulklink::Ceiling::set_cause), such as a store of a fleet that
/// is out of reach; the reason is then `unavailable`.
///
/// The body is a problem (RFC 9457) with the reason and the label of the bulkhead. It has no key,
/// and no figures but for a request that costs too much: its cost, and the most that is allowed. A
/// request with the content type of gRPC is answered in its way, in the headers.
///
/// `Retry-After` has the time until a slot may be free: in whole seconds, at least one. Where there
/// is no rate to estimate it from, and after the bulkhead was closed, it is
/// [another time](Responses::retry_after_or). It is spread evenly from the estimate to twice that,
/// so that clients that were rejected together do not return together. For gRPC, it is
/// `grpc-retry-pushback-ms`, in milliseconds, and up to a second later. A request that would be
/// rejected again, with the status 413, 500 or 504, has none.
///
/// # Guards
///
/// With the feature `breaker`, a `GuardLayer` answers in the same way. `Retry-After` is then spread
/// from the rest of the cool-down to twice that; while probes run, from one second to two; and
/// there is none for a circuit that is open until it is closed by hand. The reason of an open
/// circuit, in the body and in the header `bulklink-rejected`, is `open_circuit`.
#[derive(Clone, Debug)]
pub struct Responses {
    pub(super) status: StatusCode,
    pub(super) ceiling: Duration,
    pub(super) fallback: Duration,
    pub(super) attaches_rejections: bool,
}

/// Rejections are responses, and the slot is held until the response has been sent: for servers.
#[derive(Clone, Debug)]
pub struct Respond {
    pub(super) templates: Arc<Templates>,
    /// Whether each request gets its slot among its extensions.
    is_shared: bool,
}

/// Marks the response that a handler makes of the timeout of its client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UpstreamTimedOut;

impl Responses {
    /// Makes the default: the status 503, and at most a minute in `Retry-After`.
    #[must_use]
    pub const fn new() -> Self {
        Responses {
            status: StatusCode::SERVICE_UNAVAILABLE,
            ceiling: Duration::from_secs(60),
            fallback: Duration::from_secs(1),
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

    /// Sets the time in place of an estimate where there is none, as for the first requests, after
    /// the bulkhead was closed, and for the reason `unavailable`: one second by default. It is
    /// spread as an estimate is.
    #[must_use]
    pub const fn retry_after_or(mut self, time: Duration) -> Self {
        self.fallback = time;
        self
    }

    /// Makes the response to an error, if this or one of its [sources](std::error::Error::source)
    /// is one of those in [the table](Responses): a [`Rejection`], an open circuit, a run limit or
    /// a deadline that has passed. `None` for any other error, such as that of an upstream.
    ///
    /// `Retry-After` is that without an estimate. In a handler of axum, use
    /// [`Failure`](crate::Failure).
    ///
    /// ```
    /// # use bulklink::testing::FakeClock;
    /// # use bulklink::Bulkhead;
    /// use bulklink_tower::http::Responses;
    /// use bytes::Bytes;
    ///
    /// # let builder = Bulkhead::builder_on(FakeClock::new(), "payments");
    /// let payments = builder.parallelism(1).build()?;
    /// let _running = payments.try_slot()?;
    /// let rejection = payments.try_slot().unwrap_err();
    /// let response = Responses::new().of::<Bytes>(&rejection).expect("it is one");
    /// assert_eq!(response.status(), 503);
    /// assert!(response.headers().contains_key("retry-after"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn of<B: From<Bytes>>(&self, error: &(dyn Error + 'static)) -> Option<Response<B>> {
        self.make(Protocol::Http, error).map(|response| response.map(B::from))
    }

    /// As [`of`](Responses::of), for gRPC: the status is in the headers, from which
    /// `tonic::Status::from_header_map` makes one.
    #[must_use]
    pub fn of_grpc<B: From<Bytes>>(&self, error: &(dyn Error + 'static)) -> Option<Response<B>> {
        self.make(Protocol::Grpc, error).map(|response| response.map(B::from))
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

impl Respond {
    pub(super) fn new(responses: &Responses, label: &str) -> Self {
        Respond { templates: Arc::new(Templates::new(responses, label)), is_shared: false }
    }

    /// Answers a request that was rejected.
    #[inline]
    pub(super) fn reject<B: http_body::Body>(
        &self,
        protocol: Protocol,
        rejection: Rejection,
        estimated_wait: impl FnOnce() -> Option<Duration>,
    ) -> Response<Body<B>> {
        let own;
        let (template, estimate) = match self.templates.of(&rejection) {
            Ok(template) => (template, self.templates.earliest(template.retry, estimated_wait)),
            Err(template) => {
                own = template;
                (&*own, None)
            }
        };
        self.answer(protocol, template, estimate, rejection)
    }

    /// Makes a response of a template, with the error among its extensions, if it is to be there.
    #[inline]
    pub(super) fn answer<B: http_body::Body, T>(
        &self,
        protocol: Protocol,
        template: &Template,
        estimate: Option<Duration>,
        error: T,
    ) -> Response<Body<B>>
    where
        T: Clone + Send + Sync + 'static,
    {
        let answer = match protocol {
            Protocol::Http => &template.http,
            Protocol::Grpc => &template.grpc,
        };
        let mut response = answer.clone();
        let headers = response.headers_mut();
        match estimate {
            _ if template.retry == Retry::Never => {}
            Some(estimate) => {
                // The last one of a template: to look it up by name would cost more than to walk.
                let time = headers.values_mut().last();
                *time.expect("it was inserted") = self.templates.wait(protocol, estimate);
            }
            None => drop(headers.remove(protocol.when())),
        }
        if self.templates.attaches_rejections {
            response.extensions_mut().insert(error);
        }
        response.map(Body::rejection)
    }
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

    #[inline]
    fn deadline(
        &self,
        request: &http::Request<T>,
        clock: &RequestClock,
        _: Option<&Extension<http::Request<T>>>,
    ) -> Option<Deadline> {
        ShareSlot::deadline(request, clock)
    }

    fn leave_deadline(
        &self,
        request: &mut http::Request<T>,
        deadline: Deadline,
        _: Option<&Extension<http::Request<T>>>,
    ) {
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

    #[inline]
    fn judged(held: &Held, change: impl FnOnce(&OwnedSlot)) {
        held.judged(change);
    }

    fn load(response: &Response<B>) -> limit::Outcome {
        load(response.status())
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
        estimated_wait: impl FnOnce() -> Option<Duration>,
    ) -> Result<Response<Body<B>>, E> {
        let protocol = Outcome::<_, Response<B>, E>::protocol(self, request);
        Ok(self.reject(protocol, rejection, estimated_wait))
    }

    fn is_timeout(answer: &Result<Response<Body<B>>, E>) -> bool {
        answer.as_ref().is_ok_and(|response| response.extensions().get::<UpstreamTimedOut>().is_some())
    }

    fn cancelled(&self, protocol: Protocol, error: DeadlinePassed) -> Result<Response<Body<B>>, E> {
        Ok(self.answer(protocol, &self.templates.cancelled, None, error))
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
    ///
    /// With the feature `tracing`, an answer with the status 500 or above is logged as the event
    /// `request.failed`, as a service may pass it on.
    #[must_use]
    pub fn hold_body(self) -> BulkheadLayer<Q, R, HoldBody> {
        self.with_outcome(|_| HoldBody::default())
    }
}

impl<Q, R: Runtime> BulkheadLayer<Q, R, HoldBody> {
    /// Writes into a header of each request how long its caller still waits, less `margin` for the
    /// way back: the deadline that a layer outside has left, or that of
    /// [`deadline_after`](BulkheadLayer::deadline_after), or the timeout of a request of reqwest.
    /// It is written when the request is sent, after its wait. A request without a deadline keeps
    /// the header that it has.
    ///
    /// ```
    /// use bulklink_tokio::Bulkhead;
    /// use bulklink_tower::BulkheadLayer;
    /// use bulklink_tower::http::TimeoutHeader;
    /// use std::time::Duration;
    ///
    /// let upstream = Bulkhead::builder("upstream").parallelism(20).waiting_room(100).build()?;
    /// let timeout = TimeoutHeader::millis("x-timeout-ms")?;
    /// let margin = Duration::from_millis(20);
    /// let layer = BulkheadLayer::new(&upstream).hold_body();
    /// let layer = layer.forward_deadline(&timeout, margin);
    /// # let _: BulkheadLayer<http::Request<()>, _, _> = layer;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn forward_deadline(self, header: &TimeoutHeader, margin: Duration) -> Self {
        self.map_outcome(|_| HoldBody::forwarding(header, margin))
    }
}

impl<Q, R: Runtime> BulkheadLayer<Q, R, Respond> {
    /// Leaves the slot of each request among its extensions, as a [`HeldSlot`](super::HeldSlot),
    /// which costs an allocation: for services with work that may go on after the response has been
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
        self.with_outcome(|_| HoldBody::default())
    }
}
