//! Closures behind a guard.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use bulklink::Request;
use bulklink::runtime::{Clock, Runtime, SpawnBlocking, SpawnError};
use futures_channel::oneshot;

use super::run::limited;
use super::{Classify, Guard, GuardError, slot};
use crate::Call;

/// A call that its closure or its limit ends, whichever comes first.
type SharedCall = Arc<Mutex<Option<Call<'static>>>>;

/// # Closures
impl<R: Runtime + SpawnBlocking, K> Guard<R, K> {
    /// Runs a closure behind the guard, on a thread of the runtime that may block.
    ///
    /// It keeps its slot until it has really ended, also if its caller stops waiting because of the
    /// run limit, or is dropped. If the limit passes first, that is a failure, and the result of
    /// the closure is lost.
    ///
    /// # Errors
    ///
    /// As [`execute`](Guard::execute); also if the runtime refuses to run the closure.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives up its place in the queue. A closure that has begun runs to its
    /// end, and its result counts.
    ///
    /// # Panics
    ///
    /// With the closure's panic, which is a failure.
    pub async fn execute_blocking<T, E, F>(&self, operation: F) -> Result<T, GuardError<E>>
    where
        F: FnOnce() -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: Send + 'static,
        K: Classify<T, E> + Clone + Send + 'static,
    {
        self.breaker.check()?;
        let held = match self.bulkhead.take_free_owned() {
            Some(slot) => slot,
            None => slot::wait(&self.breaker, self.bulkhead.slot_owned()).await?,
        };
        let call: SharedCall = Arc::new(Mutex::new(Some(self.breaker.admit_owned()?)));
        let (sender, receiver) = oneshot::channel();
        let (shared, classify) = (Arc::clone(&call), self.classify.clone());
        let work = move || {
            let outcome = catch_unwind(AssertUnwindSafe(operation));
            if let Some(call) = take(&shared) {
                match &outcome {
                    Ok(result) => call.settle(classify.classify(result)),
                    Err(_) => call.panic(),
                }
            }
            drop(held);
            // The caller may be gone.
            let _ = sender.send(outcome);
        };
        let runtime = self.bulkhead.runtime();
        if let Err(refused) = runtime.spawn_blocking(work) {
            return Err(not_begun(&call, refused));
        }
        match limited(runtime, self.run_limit, pin!(receiver), Future::poll).await {
            Some(Ok(Ok(result))) => result.map_err(GuardError::Operation),
            Some(Ok(Err(payload))) => resume_unwind(payload),
            Some(Err(_)) => Err(not_begun(&call, SpawnError::new("the closure was dropped"))),
            None => {
                if let Some(call) = take(&call) {
                    call.time_out();
                }
                Err(GuardError::TimedOut(self.timed_out()))
            }
        }
    }
}

impl<R: Clock + Clone + Send + Sync + 'static, K> Guard<R, K> {
    /// Runs a closure on this thread behind the guard, and blocks the thread until it has a slot.
    ///
    /// The run limit does not apply: nothing can stop the closure.
    ///
    /// # Errors
    ///
    /// If the circuit is open or the bulkhead rejects the call, or with the closure's own error.
    ///
    /// # Panics
    ///
    /// With the closure's panic, which is a failure.
    pub fn blocking_execute<T, E>(&self, operation: impl FnOnce() -> Result<T, E>) -> Result<T, GuardError<E>>
    where
        K: Classify<T, E>,
    {
        self.breaker.check()?;
        let _slot = self.bulkhead.blocking_slot_unless(Request::new(), self.breaker.opened())??;
        let call = self.breaker.admit()?;
        // Caught, because a closure may run and succeed on a thread that is panicking already.
        match catch_unwind(AssertUnwindSafe(operation)) {
            Ok(result) => {
                call.settle(self.classify.classify(&result));
                result.map_err(GuardError::Operation)
            }
            Err(payload) => {
                call.panic();
                resume_unwind(payload)
            }
        }
    }
}

/// Takes the call, if it has not ended yet.
fn take(call: &SharedCall) -> Option<Call<'static>> {
    call.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// The error of a closure that did not run, and so says nothing of the dependency.
fn not_begun<E>(call: &SharedCall, refused: SpawnError) -> GuardError<E> {
    if let Some(call) = take(call) {
        call.ignore();
    }
    GuardError::Refused(refused)
}
