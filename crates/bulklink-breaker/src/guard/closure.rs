//! Closures behind a guard, on threads of the runtime that may block.

use std::any::Any;
use std::future::Future;
use std::mem;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;

use bulklink::plumbing::{catch, discard};
use bulklink::runtime::{Runtime, SpawnBlocking, SpawnError};
use bulklink::{OwnedSlot, Request};
use futures_channel::oneshot;

use super::request::{Parts, Terms};
use super::run::limited;
use super::slot::{Unused, admit};
use super::{Guard, GuardError, GuardRequest, TimedOut};
use crate::sync::{Mutex, lock};
use crate::{Call, Classify};

/// # Closures
impl<R: Runtime + SpawnBlocking, K> Guard<R, K> {
    /// Runs a closure behind the guard, on a thread of the runtime that may block. A thread without
    /// a runtime calls [`blocking_execute`](Guard::blocking_execute).
    ///
    /// It keeps its slot until it has really ended, also if its caller stops waiting because of the
    /// run limit, or is dropped. The limit begins when the closure is given to the runtime. If it
    /// passes while the closure runs, that is a failure, and the result is lost. If no thread has
    /// begun the closure until then, it never runs, and counts for neither side.
    ///
    /// # Errors
    ///
    /// As [`execute`](Guard::execute); also if the runtime refuses or drops the closure, or no
    /// thread begins it before the limit.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives up its place in the queue, or drops a closure that has not begun.
    /// One that has begun runs to its end, and its result counts.
    ///
    /// # Panics
    ///
    /// With the closure's panic, which is a failure; and where the classifier panics.
    pub fn execute_blocking<T, E, F>(
        &self,
        operation: F,
    ) -> impl Future<Output = Result<T, GuardError<E>>> + use<'_, T, E, F, R, K>
    where
        F: FnOnce() -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: Send + 'static,
        K: Classify<T, E> + Clone + Send + 'static,
    {
        self.with(Request::new()).execute_blocking(operation)
    }
}

/// # Closures
impl<R: Runtime + SpawnBlocking, K> GuardRequest<'_, R, K> {
    /// Runs a closure behind the guard, on a thread of the runtime that may block, as
    /// [`Guard::execute_blocking`].
    ///
    /// # Errors
    ///
    /// As [`Guard::execute_blocking`].
    ///
    /// # Cancel safety
    ///
    /// As [`Guard::execute_blocking`].
    ///
    /// # Panics
    ///
    /// As [`Guard::execute_blocking`].
    pub async fn execute_blocking<T, E, F>(self, operation: F) -> Result<T, GuardError<E>>
    where
        F: FnOnce() -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: Send + 'static,
        K: Classify<T, E> + Clone + Send + 'static,
    {
        let Parts { breaker, request, terms } = self.parts();
        let Terms { runtime, classify, .. } = terms;
        let (call, slot) = admit(&breaker, request).await?;
        let run_limit = terms.run_limit();
        let (sender, mut receiver) = oneshot::channel();
        let caller = Caller(Arc::new(Mutex::new(Stage::Waiting { operation, call, slot })));
        let (shared, classify) = (Arc::clone(&caller.0), classify.clone());
        let work = move || {
            let Some(ended) = run(&shared, &classify) else { return };
            // The caller may be gone. Its result is foreign.
            if let Err(unwanted) = sender.send(ended) {
                discard(unwanted);
            }
        };
        // A runtime may panic where it cannot start a thread.
        catch(|| runtime.spawn_blocking(work)).unwrap_or_else(|payload| {
            discard(payload);
            Err(SpawnError::new("it panicked"))
        })?;
        let ended = match limited(runtime, run_limit, Pin::new(&mut receiver)).await {
            Some(ended) => ended,
            None => match take_if(&caller.0, |_| true) {
                Stage::Running(call) => {
                    call.time_out();
                    return Err(GuardError::TimedOut(TimedOut::new(breaker.shared_label(), run_limit)));
                }
                // Its outcome is counted, and its result is on its way.
                Stage::Over => receiver.await,
                waiting @ Stage::Waiting { .. } => {
                    waiting.drop_waiting();
                    return Err(SpawnError::new("no thread was free within the run limit").into());
                }
            },
        };
        match ended {
            Ok(Ok(result)) => result.map_err(GuardError::Operation),
            Ok(Err(payload)) => resume_unwind(payload),
            Err(oneshot::Canceled) => Err(SpawnError::new("the closure was dropped").into()),
        }
    }
}

/// How far a closure is.
enum Stage<F> {
    /// No thread has begun it. Dropped in this order if none ever does.
    Waiting {
        operation: F,
        call: Call<'static>,
        slot: Unused<OwnedSlot>,
    },
    /// Whichever takes the call, the closure's end or its limit, counts the outcome.
    Running(Call<'static>),
    Over,
}

/// The caller of a closure. If it is dropped, a closure that has not begun is dropped too.
struct Caller<F>(Arc<Mutex<Stage<F>>>);

impl<F> Drop for Caller<F> {
    fn drop(&mut self) {
        take_if(&self.0, |stage| matches!(stage, Stage::Waiting { .. })).drop_waiting();
    }
}

impl<F> Stage<F> {
    /// Drops a closure, if it has not begun.
    fn drop_waiting(self) {
        if let Stage::Waiting { operation, call, slot } = self {
            discard(operation);
            call.ignore();
            drop(slot);
        }
    }
}

/// Takes the value of this stage, out of the lock, if it is wanted.
fn take_if<F>(stage: &Mutex<Stage<F>>, wanted: impl FnOnce(&Stage<F>) -> bool) -> Stage<F> {
    let mut stage = lock(stage);
    if wanted(&stage) { mem::replace(&mut stage, Stage::Over) } else { Stage::Over }
}

/// Runs a closure, counts its outcome, and then releases its slot. Returns its result, or the
/// payload of a panic, or `None` if its caller has given it up.
fn run<T, E, F, K>(stage: &Mutex<Stage<F>>, classify: &K) -> Option<Result<Result<T, E>, Box<dyn Any + Send>>>
where
    F: FnOnce() -> Result<T, E>,
    K: Classify<T, E>,
{
    let (operation, _slot) = {
        let mut stage = lock(stage);
        match mem::replace(&mut *stage, Stage::Over) {
            Stage::Waiting { operation, call, slot } => {
                *stage = Stage::Running(call);
                (operation, slot.begin())
            }
            _ => return None,
        }
    };
    let ended = catch(operation);
    let outcome = ended.as_ref().ok().map(|result| catch(|| classify.classify(result)));
    let call = match take_if(stage, |_| true) {
        Stage::Running(call) => Some(call),
        _ => None,
    };
    match outcome {
        None => _ = call.map(Call::panic),
        Some(Ok(outcome)) => _ = call.map(|call| call.settle(outcome)),
        Some(Err(payload)) => {
            // A fault of the classifier is no sign of the dependency's health.
            drop(call);
            discard(ended);
            return Some(Err(payload));
        }
    }
    Some(ended)
}
