//! An async function with a bulkhead around it.

use core::fmt;
use core::future::Future;

use crate::{BoundRequest, Clock, Rejection, Runtime};

/// An async function that runs in a slot on every call; returned by
/// [`Bulkhead::wrap`](crate::Bulkhead::wrap) and [`BoundRequest::wrap`].
#[derive(Clone)]
pub struct Wrapped<F, R: Clock> {
    function: F,
    request: BoundRequest<R>,
}

impl<F, R: Runtime> Wrapped<F, R> {
    pub(crate) fn new(function: F, request: BoundRequest<R>) -> Self {
        Wrapped { function, request }
    }

    /// Acquires a slot, and then calls the function with `argument` and runs its future in it. For
    /// several arguments, pass a tuple.
    ///
    /// # Errors
    ///
    /// If the call is not admitted. The function is then never called.
    pub fn call<A, O>(&self, argument: A) -> impl Future<Output = Result<O::Output, Rejection>> + use<'_, A, O, F, R>
    where
        F: Fn(A) -> O,
        O: Future,
    {
        // The block calls the function when it is first polled, and so in the slot.
        self.request.clone().execute(async move { (self.function)(argument).await })
    }
}

impl<F, R: Clock> fmt::Debug for Wrapped<F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wrapped").field("request", &self.request).finish_non_exhaustive()
    }
}
