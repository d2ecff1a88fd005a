//! An async function with a guard around it.

use std::fmt;
use std::future::Future;

use bulklink::runtime::Runtime;

use super::{Guard, GuardError};
use crate::{Classify, ErrorsFail};

/// An async function each call of which runs behind a guard; returned by [`Guard::wrap`].
#[derive(Clone)]
pub struct Guarded<F, R, K = ErrorsFail> {
    function: F,
    guard: Guard<R, K>,
}

impl<F, R: Runtime, K> Guarded<F, R, K> {
    pub(super) fn new(function: F, guard: Guard<R, K>) -> Self {
        Guarded { function, guard }
    }

    /// Calls the function with `argument` once the guard lets it, and runs its future. For several
    /// arguments, pass a tuple.
    ///
    /// # Errors
    ///
    /// As [`Guard::execute`]. The function is not called if its call is rejected.
    pub fn call<A, O, T, E>(
        &self,
        argument: A,
    ) -> impl Future<Output = Result<T, GuardError<E>>> + use<'_, A, O, T, E, F, R, K>
    where
        F: Fn(A) -> O,
        O: Future<Output = Result<T, E>>,
        K: Classify<T, E>,
    {
        // The block calls the function when it is first polled, and so in the slot.
        self.guard.execute(async move { (self.function)(argument).await })
    }

    /// Returns the guard.
    #[must_use]
    pub const fn guard(&self) -> &Guard<R, K> {
        &self.guard
    }
}

impl<F, R, K> fmt::Debug for Guarded<F, R, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guarded").field("guard", &self.guard).finish_non_exhaustive()
    }
}
