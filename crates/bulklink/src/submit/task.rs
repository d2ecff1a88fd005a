//! The task of a submitted operation: it waits for a slot, and runs the operation in it.

use alloc::sync::Arc;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::JoinError;
use super::job::Job;
use crate::acquire::claim::Claim;
use crate::foreign::{catch, contain, discard};
use crate::gate::shared::Shared;

pin_project! {
    /// A submitted future, or a closure (see `closure.rs`), with its slot. The operation is dropped
    /// before its slot is released, and the slot is free before the handle completes.
    pub(crate) struct Task<O, T> {
        // `None` once the operation has ended, and while a closure runs.
        #[pin]
        pub(super) operation: Option<O>,
        // The slot of a future that has begun.
        claim: Option<Claim<Arc<Shared>>>,
        pub(super) job: Arc<Job<T>>,
    }

    impl<O, T> PinnedDrop for Task<O, T> {
        // If no outcome was given, the runtime dropped the task.
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            discard_pinned(this.operation);
            this.claim.iter().for_each(Claim::cancel);
            // Contained, so that the handle completes even if the clock panics here.
            discard(this.claim.take());
            this.job.lose();
        }
    }
}

impl<O, T> Task<O, T> {
    pub(crate) fn new(operation: O, job: &Arc<Job<T>>) -> Self {
        Task { operation: Some(operation), claim: None, job: Arc::clone(job) }
    }
}

impl<F: Future> Future for Task<F, F::Output> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        let outcome = match ready!(poll_may_run(this.claim, this.job, context)) {
            Ok(()) => ready!(run(this.operation.as_mut(), context)),
            Err(why) => Err(why),
        };
        discard_pinned(this.operation);
        if outcome.is_err() {
            this.claim.iter().for_each(Claim::cancel);
        }
        *this.claim = None;
        this.job.end(outcome);
        Poll::Ready(())
    }
}

/// Completes when the operation may be polled. A cancel is not checked for between `begin` and the
/// first poll, so that an operation that counts as begun is polled.
fn poll_may_run<T>(
    claim: &mut Option<Claim<Arc<Shared>>>,
    job: &Job<T>,
    context: &mut Context<'_>,
) -> Poll<Result<(), JoinError>> {
    if claim.is_none() {
        ready!(job.poll_admitted(context))?;
        *claim = Some(job.begin()?);
    } else if job.is_cancelled(context.waker()) {
        return Poll::Ready(Err(JoinError::Cancelled));
    }
    Poll::Ready(Ok(()))
}

/// Polls the operation, and drops it once it has a value. If that drop panics, the panic replaces
/// the value.
fn run<F: Future>(mut operation: Pin<&mut Option<F>>, context: &mut Context<'_>) -> Poll<Result<F::Output, JoinError>> {
    let polled = catch(|| {
        let running = operation.as_mut().as_pin_mut().expect("polled again after it had completed");
        running.poll(context)
    });
    let output = match polled {
        Ok(poll) => ready!(poll),
        Err(panic) => return Poll::Ready(Err(JoinError::panicked(panic))),
    };
    let dropped = catch(|| operation.set(None));
    Poll::Ready(match dropped {
        Ok(()) => Ok(output),
        Err(panic) => {
            discard(output);
            Err(JoinError::panicked(panic))
        }
    })
}

fn discard_pinned<F>(mut operation: Pin<&mut Option<F>>) {
    contain(|| operation.set(None));
}
