//! The task of a submitted future: it waits for its slot, and runs the future there.

use alloc::sync::Arc;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::JoinError;
use super::job::Reporter;
use crate::Runtime;
use crate::foreign::{catch, contain};
use crate::shared::Shared;
use crate::slot::Hold;

pin_project! {
    /// The operation is gone before its slot is given back, and the slot is free before anybody hears of the end: so they stand
    /// in this order, for the case that all is dropped.
    pub(crate) struct Task<F: Future, R: Runtime> {
        #[pin]
        operation: Option<F>,
        hold: Option<Hold<Arc<Shared>>>,
        reporter: Reporter<F::Output, R>,
    }
}

impl<F: Future, R: Runtime> Task<F, R> {
    pub(crate) fn new(operation: F, reporter: Reporter<F::Output, R>) -> Self {
        Task { operation: Some(operation), hold: None, reporter }
    }
}

impl<F: Future, R: Runtime> Future for Task<F, R> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        if this.hold.is_none() {
            if ready!(this.reporter.poll_admitted(context)) {
                *this.hold = this.reporter.begin();
            }
            if this.hold.is_none() {
                return Poll::Ready(());
            }
        }
        let outcome = if this.reporter.is_stopping(context.waker()) {
            discard_pinned(this.operation.as_mut());
            Err(JoinError::Cancelled)
        } else {
            ready!(run(this.operation.as_mut(), context))
        };
        *this.hold = None;
        this.reporter.give(outcome);
        Poll::Ready(())
    }
}

/// The operation is gone when there is an outcome.
fn run<F: Future>(mut operation: Pin<&mut Option<F>>, context: &mut Context<'_>) -> Poll<Result<F::Output, JoinError>> {
    let ran = catch(|| {
        let running = operation.as_mut().as_pin_mut().expect("not polled again after it had completed");
        let output = ready!(running.poll(context));
        operation.set(None);
        Poll::Ready(output)
    });
    let outcome = match ran {
        Ok(Poll::Pending) => return Poll::Pending,
        Ok(Poll::Ready(output)) => Ok(output),
        Err(panic) => Err(JoinError::panicked(panic)),
    };
    discard_pinned(operation);
    Poll::Ready(outcome)
}

fn discard_pinned<F>(mut operation: Pin<&mut Option<F>>) {
    contain(|| operation.set(None));
}
