//! Guards of HTTP: rejections as responses, and calls that end with the body.

use std::any::Any;
use std::convert::Infallible;
use std::time::Duration;

use bulklink_breaker::GuardError;
use bulklink_breaker::plumbing::Policy;
use http::{Response, StatusCode};

use super::hold::{Held, HoldSlot, ShareSlot};
use super::templates::{Protocol, REJECTED, after, is_of_this_process};
use super::{Body, HoldBody, Respond, Responses, TimeoutHeader};
use crate::guard::{Guarding, Ongoing, is_refusal};
use crate::outcome::Outcome;
use crate::{BoxError, GuardLayer, log};

/// Adds the call to the slot that the body holds.
fn with_call(held: Option<Held>, call: Ongoing) -> Held {
    Held { call: Some(Box::new(call)), slot: held.and_then(|held| held.slot) }
}

impl<Q: ShareSlot, A: HoldSlot, E: Into<BoxError>> Guarding<Q, A, E> for HoldBody {
    fn refused(
        &self,
        (): (),
        error: GuardError<Infallible>,
        _: impl FnOnce() -> Option<Duration>,
    ) -> Result<A::Holding, BoxError> {
        Err(error.into_boxed())
    }

    fn succeeded(mut response: A, held: Option<Held>, call: Ongoing) -> A::Holding {
        let held = Some(with_call(held, call));
        response.log_error(held.as_ref());
        response.hold_upgrade(held)
    }

    fn margin(&self) -> Duration {
        self.margin()
    }

    fn is_refusal(result: Result<&A, &BoxError>) -> bool {
        result.is_err_and(|error| is_refusal(&**error))
    }
}

impl<T, B: http_body::Body, E: 'static> Guarding<http::Request<T>, Response<B>, E> for Respond {
    fn refused(
        &self,
        protocol: Protocol,
        error: GuardError<Infallible>,
        estimated_wait: impl FnOnce() -> Option<Duration>,
    ) -> Result<Response<Body<B>>, E> {
        Ok(match error {
            GuardError::Open(open) => self.answer(protocol, &self.templates.open, after(&open), open),
            GuardError::TimedOut(timed_out) => {
                log::failed(Some(StatusCode::GATEWAY_TIMEOUT), &timed_out);
                self.answer(protocol, &self.templates.timed_out, None, timed_out)
            }
            GuardError::Rejected(rejection) => self.reject(protocol, rejection, estimated_wait),
            GuardError::Operation(never) => match never {},
            other => unreachable!("no closure is spawned: {other}"),
        })
    }

    fn succeeded(response: Response<B>, held: Option<Held>, call: Ongoing) -> Response<Body<B>> {
        <Respond as Outcome<http::Request<T>, Response<B>, E>>::answered(response, Some(with_call(held, call)))
    }

    fn is_refusal(result: Result<&Response<B>, &E>) -> bool {
        match result {
            Ok(response) => response.headers().get(REJECTED).is_some_and(is_of_this_process),
            Err(error) => (error as &dyn Any).downcast_ref::<BoxError>().is_some_and(|error| is_refusal(&**error)),
        }
    }
}

impl<G: Policy> GuardLayer<G> {
    /// Answers requests that are not let through, or run too long, with the default [`Responses`],
    /// and holds each slot and each call until the response's body has ended: for servers.
    ///
    /// With the feature `tracing`, a request that runs too long is logged as the event
    /// `request.failed`, with the label of the guard and its run limit.
    #[must_use]
    pub fn respond(self) -> GuardLayer<G, Respond> {
        self.respond_with(&Responses::new())
    }

    /// As [`respond`](GuardLayer::respond), with these responses.
    #[must_use]
    pub fn respond_with(self, responses: &Responses) -> GuardLayer<G, Respond> {
        self.with_outcome(|guard| Respond::new(responses, guard.label()))
    }

    /// Holds each slot and each call until the response's body has been read or dropped: for
    /// clients. Answers are logged as by
    /// [`BulkheadLayer::hold_body`](crate::BulkheadLayer::hold_body).
    #[must_use]
    pub fn hold_body(self) -> GuardLayer<G, HoldBody> {
        self.with_outcome(|_| HoldBody::default())
    }
}

impl<G> GuardLayer<G, HoldBody> {
    /// Writes into a header of each request how long its caller still waits, less `margin`: as
    /// [`BulkheadLayer::forward_deadline`](crate::BulkheadLayer::forward_deadline).
    #[must_use]
    pub fn forward_deadline(self, header: &TimeoutHeader, margin: Duration) -> Self {
        self.with_outcome(|_| HoldBody::forwarding(header, margin))
    }
}
