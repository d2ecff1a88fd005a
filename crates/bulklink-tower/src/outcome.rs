//! What a layer makes of an answer, and of a rejection.

use bulklink::{OwnedSlot, Rejection};

use crate::BoxError;

/// How the answers of a service become those of the layer. Only this crate implements it.
///
/// `Q` is the request, `A` the response and `E` the error of the service.
pub trait Outcome<Q, A, E>: Clone {
    /// The response of the layer.
    type Response;
    /// The error of the layer.
    type Error;
    /// What holds the slot from the admission to the answer.
    type Held;

    /// Takes the slot, and leaves in the request what the service needs of it.
    fn admitted(&self, request: &mut Q, slot: OwnedSlot) -> Self::Held;

    /// Makes the response. A request that was exempt holds nothing.
    fn answered(&self, response: A, held: Option<Self::Held>) -> Self::Response;

    /// Makes the error, when the service has failed.
    fn failed(&self, error: E) -> Self::Error;

    /// Answers a request that was not admitted.
    fn rejected(
        &self,
        request: &Q,
        rejection: Rejection,
        estimated_wait: impl FnOnce() -> Option<std::time::Duration>,
    ) -> Result<Self::Response, Self::Error>;
}

/// Rejections are errors, and the slot is held until the service has answered.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Errors;

impl<Q, A, E: Into<BoxError>> Outcome<Q, A, E> for Errors {
    type Response = A;
    type Error = BoxError;
    type Held = OwnedSlot;

    fn admitted(&self, _: &mut Q, slot: OwnedSlot) -> OwnedSlot {
        slot
    }

    fn answered(&self, response: A, _: Option<OwnedSlot>) -> A {
        response
    }

    fn failed(&self, error: E) -> BoxError {
        error.into()
    }

    fn rejected(
        &self,
        _: &Q,
        rejection: Rejection,
        _: impl FnOnce() -> Option<std::time::Duration>,
    ) -> Result<A, BoxError> {
        Err(rejection.into())
    }
}
