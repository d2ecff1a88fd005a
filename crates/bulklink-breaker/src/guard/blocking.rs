//! Closures behind a guard, on the thread of the caller.

use std::panic::resume_unwind;

use bulklink::plumbing::catch;
use bulklink::runtime::Clock;
use bulklink::{OwnedSlot, Request};

use super::request::{Parts, Terms};
use super::slot::Unused;
use super::{Guard, GuardError, GuardRequest};
use crate::Classify;

/// # Block the thread
impl<R: Clock + Clone + Send + Sync + 'static, K> Guard<R, K> {
    /// Runs a closure on this thread behind the guard, and blocks the thread until it has a slot.
    ///
    /// The run limit does not apply: nothing can stop the closure. It is for threads; a task awaits
    /// [`execute_blocking`](Guard::execute_blocking), which runs the closure on another thread.
    ///
    /// # Errors
    ///
    /// If the circuit is open or the bulkhead rejects the call, or with the closure's own error.
    ///
    /// # Panics
    ///
    /// With the closure's panic, which is a failure; and where the classifier panics.
    pub fn blocking_execute<T, E>(&self, operation: impl FnOnce() -> Result<T, E>) -> Result<T, GuardError<E>>
    where
        K: Classify<T, E>,
    {
        self.with(Request::new()).blocking_execute(operation)
    }
}

/// # Block the thread
impl<R: Clock + Clone + Send + Sync + 'static, K> GuardRequest<'_, R, K> {
    /// Runs a closure on this thread behind the guard, as [`Guard::blocking_execute`].
    ///
    /// # Errors
    ///
    /// As [`Guard::blocking_execute`].
    ///
    /// # Panics
    ///
    /// As [`Guard::blocking_execute`].
    pub fn blocking_execute<T, E>(self, operation: impl FnOnce() -> Result<T, E>) -> Result<T, GuardError<E>>
    where
        K: Classify<T, E>,
    {
        let Parts { breaker, request, terms: Terms { classify, .. } } = self.parts();
        breaker.check()?;
        let slot = Unused::new(request.blocking_slot_unless(breaker.opened())??, OwnedSlot::abandon);
        let call = breaker.blocking_ask_operation()?;
        let _slot = slot.begin();
        // Caught, because a closure may run and succeed on a thread that is panicking already.
        match catch(operation) {
            Ok(result) => {
                call.settle(classify.classify(&result));
                result.map_err(GuardError::Operation)
            }
            Err(payload) => {
                call.panic();
                resume_unwind(payload)
            }
        }
    }
}
