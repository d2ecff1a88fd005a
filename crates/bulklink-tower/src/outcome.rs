//! The outcome of a layer for an answer, and for a rejection.

use std::time::Duration;

use bulklink::limit;
use bulklink::{OwnedSlot, Rejection, plumbing};

use crate::admission::Extension;
use crate::deadline::{Deadline, RequestClock};
use crate::rejection::{is_timeout, load};
use crate::{BoxError, DeadlinePassed};

/// How the answers of a service become those of the layer. Only this crate implements it.
///
/// `Q` is the request, `A` the response and `E` the error of the service.
pub trait Outcome<Q, A, E>: Clone {
    /// The response of the layer.
    type Response;
    /// The error of the layer.
    type Error;
    /// The holder of the slot from the admission to the answer.
    type Held;
    /// The parts of a request that its answer needs after it is gone.
    type Protocol;

    /// Returns in which protocol the request wants its answer.
    fn protocol(&self, request: &Q) -> Self::Protocol;

    /// Returns the deadline that the request has already: that of a layer outside of this one, or
    /// of a client, on this clock. An outcome that knows nothing of HTTP finds it by `extension`.
    #[inline]
    fn deadline(&self, request: &Q, clock: &RequestClock, extension: Option<&Extension<Q>>) -> Option<Deadline> {
        let _ = clock;
        (extension?.find)(request)
    }

    /// Leaves the deadline in the request that is sent now, as [`deadline`](Outcome::deadline)
    /// finds it.
    fn leave_deadline(&self, request: &mut Q, deadline: Deadline, extension: Option<&Extension<Q>>) {
        if let Some(extension) = extension {
            (extension.leave)(request, deadline);
        }
    }

    /// Takes the slot, and leaves in the request the parts of it that the service needs.
    fn admitted(&self, request: &mut Q, slot: OwnedSlot) -> Self::Held;

    /// Leaves in a request that is exempt the parts that the service expects of one with a slot.
    fn exempted(&self, request: &mut Q) {
        let _ = request;
    }

    /// Calls `change` with the slot, if the end of its request is a sample for an adaptive limit.
    fn judged(held: &Self::Held, change: impl FnOnce(&OwnedSlot));

    /// Returns a response as a sign of the load of the service.
    fn load(response: &A) -> limit::Outcome;

    /// Returns an error of the service as a sign of its load.
    fn load_of_failure(error: &Self::Error) -> limit::Outcome {
        let _ = error;
        limit::Outcome::Ignore
    }

    /// Makes the response. A request that was exempt holds nothing.
    fn answered(response: A, held: Option<Self::Held>) -> Self::Response;

    /// Makes the error, when the service has failed.
    fn failed(error: E) -> Self::Error;

    /// Answers a request that was not admitted.
    fn rejected(
        &self,
        request: &Q,
        rejection: Rejection,
        estimated_wait: impl FnOnce() -> Option<Duration>,
    ) -> Result<Self::Response, Self::Error>;

    /// Returns whether the answer is that of a client that was out of time. At the deadline of its
    /// request, that and the cancellation are one event, whichever is first.
    fn is_timeout(answer: &Result<Self::Response, Self::Error>) -> bool;

    /// Answers a request that was cancelled at its deadline.
    fn cancelled(&self, protocol: Self::Protocol, error: DeadlinePassed) -> Result<Self::Response, Self::Error>;
}

/// Takes the slot of a request. Unless that is answered, it counts as cancelled.
#[inline]
pub(crate) fn admitted<Q, A, E, O: Outcome<Q, A, E>>(outcome: &O, request: &mut Q, slot: OwnedSlot) -> O::Held {
    plumbing::cancelled(&slot);
    outcome.admitted(request, slot)
}

/// Rejections are errors, and the slot is held until the service has answered.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Errors;

impl<Q, A, E: Into<BoxError>> Outcome<Q, A, E> for Errors {
    type Response = A;
    type Error = BoxError;
    type Held = OwnedSlot;
    type Protocol = ();

    fn protocol(&self, _: &Q) {}

    fn admitted(&self, _: &mut Q, slot: OwnedSlot) -> OwnedSlot {
        slot
    }

    #[inline]
    fn judged(held: &OwnedSlot, change: impl FnOnce(&OwnedSlot)) {
        if plumbing::is_judged(held) {
            change(held);
        }
    }

    fn load(_: &A) -> limit::Outcome {
        limit::Outcome::Success
    }

    fn load_of_failure(error: &BoxError) -> limit::Outcome {
        load(&**error)
    }

    fn answered(response: A, _: Option<OwnedSlot>) -> A {
        response
    }

    fn failed(error: E) -> BoxError {
        error.into()
    }

    fn rejected(&self, _: &Q, rejection: Rejection, _: impl FnOnce() -> Option<Duration>) -> Result<A, BoxError> {
        Err(rejection.into())
    }

    fn is_timeout(answer: &Result<A, BoxError>) -> bool {
        answer.as_ref().is_err_and(|error| is_timeout(&**error))
    }

    fn cancelled(&self, (): (), error: DeadlinePassed) -> Result<A, BoxError> {
        Err(error.into())
    }
}
