//! A submitted closure: its wait for a slot, and its run on a thread that may block.

use alloc::sync::Arc;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use super::JoinError;
use super::job::Reporter;
use crate::foreign::{catch, discard};
use crate::{Runtime, SpawnBlocking, SpawnError};

/// A closure that runs in its slot to its end, even if it is cancelled meanwhile.
pub(crate) struct Work<C, T, R: Runtime> {
    /// `None` once the closure runs.
    closure: Option<C>,
    reporter: Reporter<T, R>,
}

impl<C: FnOnce() -> T, T, R: Runtime> Work<C, T, R> {
    pub(crate) fn new(closure: C, reporter: Reporter<T, R>) -> Self {
        Work { closure: Some(closure), reporter }
    }

    /// Runs the closure, unless it was cancelled.
    pub(crate) fn run(mut self) {
        let hold = match self.reporter.begin() {
            Ok(hold) => hold,
            Err(why) => return self.reject(why),
        };
        let closure = self.closure.take().expect("it runs once");
        let outcome = catch(closure).map_err(JoinError::panicked);
        drop(hold);
        self.reporter.give(outcome);
    }

    /// Drops the closure, and then gives the outcome.
    fn reject(mut self, why: JoinError) {
        discard(self.closure.take());
        self.reporter.give(Err(why));
    }
}

/// Drops the closure before the reporter gives an outcome, and contains a panic of that drop.
impl<C, T, R: Runtime> Drop for Work<C, T, R> {
    fn drop(&mut self) {
        discard(self.closure.take());
    }
}

/// A task that waits in the queue for a closure, so that no thread has to.
pub(crate) struct QueuedClosure<C, T, R: Runtime> {
    work: Option<Work<C, T, R>>,
    runtime: R,
}

/// It pins nothing.
impl<C, T, R: Runtime> Unpin for QueuedClosure<C, T, R> {}

impl<C, T, R: Runtime> QueuedClosure<C, T, R> {
    pub(crate) fn new(work: Work<C, T, R>, runtime: R) -> Self {
        QueuedClosure { work: Some(work), runtime }
    }
}

impl<C, T, R> Future for QueuedClosure<C, T, R>
where
    C: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
    R: Runtime<Sleep: Send> + SpawnBlocking,
{
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let work = self.work.as_ref().expect("not polled again after it had completed");
        let admitted = ready!(work.reporter.poll_admitted(context));
        let work = self.work.take().expect("just seen");
        match admitted {
            Ok(()) => _ = launch(work, &self.runtime),
            Err(why) => work.reject(why),
        }
        Poll::Ready(())
    }
}

/// Asks the runtime to run the closure. A refusal is also the outcome of the handle.
pub(crate) fn launch<C, T, R>(work: Work<C, T, R>, runtime: &R) -> Result<(), SpawnError>
where
    C: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
    R: Runtime<Sleep: Send> + SpawnBlocking,
{
    let job = Arc::clone(work.reporter.job());
    job.launch(|| runtime.spawn_blocking(move || work.run()))
}
