//! A call that a breaker has let through.

use std::future::{Future, poll_fn};
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;

use super::core::{Core, Ending};
use crate::circuit::Pass;
use crate::{Instant, Outcome};

/// A call that a breaker has let through, until its outcome is known.
///
/// A drop of it counts the call as cancelled, or as panicked if the thread is
/// panicking: a panic is a failure. A cancelled call counts for neither side, unless it was
/// [slow](crate::Settings::slow_rate) already, or
/// [`count_cancelled`](crate::BreakerBuilder::count_cancelled) is set.
///
/// An outcome from before the last transition of the circuit changes nothing.
#[derive(Debug)]
#[must_use = "dropping it says that the call was cancelled"]
pub struct Call<'a> {
    core: Source<'a>,
    pass: Pass,
    began: Instant,
    progress: Progress,
}

#[derive(Debug)]
pub(crate) enum Source<'a> {
    Borrowed(&'a Core),
    Owned(Arc<Core>),
}

impl Deref for Source<'_> {
    type Target = Core;

    #[inline]
    fn deref(&self) -> &Core {
        match self {
            Source::Borrowed(core) => core,
            Source::Owned(core) => core,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// A user holds the call. A panic that drops it is its own.
    Held,
    /// Its operation is being polled: if the call is dropped now, that has panicked.
    Polling,
    /// Its operation is not being polled, or its thread was panicking before it.
    Pending,
    /// Its outcome is counted.
    Settled,
}

impl<'a> Call<'a> {
    #[inline]
    pub(crate) fn new(core: Source<'a>, pass: Pass, began: Instant) -> Self {
        Call { core, pass, began, progress: Progress::Pending }
    }

    /// Gives the call to a user.
    #[inline]
    pub(crate) fn held(mut self) -> Self {
        if !thread::panicking() {
            self.progress = Progress::Held;
        }
        self
    }

    pub(crate) fn label(&self) -> Arc<str> {
        Arc::clone(&self.core.config.label)
    }

    /// Its operation has succeeded, and the answer is on its way to a reader.
    pub(crate) fn answered(mut self) -> Self {
        self.began = self.core.beginning_of_answered(self.began);
        self.held()
    }

    /// Whether the circuit is half-open, and this call decides on it.
    #[must_use]
    pub fn is_probe(&self) -> bool {
        self.pass.probe.is_some()
    }

    /// Ends the call: it has succeeded.
    #[inline]
    pub fn succeed(self) {
        self.settle(Outcome::Success);
    }

    /// Ends the call: it has failed.
    pub fn fail(self) {
        self.settle(Outcome::Failure);
    }

    /// Ends the call, which counts for neither side.
    pub fn ignore(self) {
        self.settle(Outcome::Ignore);
    }

    /// Ends the call with this outcome.
    #[inline]
    pub fn settle(mut self, outcome: Outcome) {
        self.end(Ending::Outcome(outcome));
    }

    /// Ends the call: it took too long, which is a failure.
    pub(crate) fn time_out(mut self) {
        self.end(Ending::TimedOut);
    }

    /// Ends the call: its operation has panicked, which is a failure.
    pub(crate) fn panic(mut self) {
        self.end(Ending::Panicked);
    }

    /// Ends the call: its drop then counts nothing.
    #[inline]
    pub(crate) fn end(&mut self, ending: Ending) {
        self.progress = Progress::Settled;
        self.core.settle(self.pass, self.began, ending);
    }

    /// Runs the operation of this call, so that a panic differs from a drop.
    pub(crate) async fn run<F: Future>(&mut self, mut operation: Pin<&mut F>) -> F::Output {
        poll_fn(|context| self.poll(operation.as_mut(), context)).await
    }

    /// Polls the operation of this call, so that a panic differs from a drop.
    #[inline]
    pub(crate) fn poll<F: Future>(&mut self, operation: Pin<&mut F>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.progress = Progress::Polling;
        let polled = operation.poll(context);
        self.progress = Progress::Pending;
        polled
    }
}

impl Drop for Call<'_> {
    #[inline]
    fn drop(&mut self) {
        let panicked = match self.progress {
            Progress::Settled => return,
            Progress::Held => thread::panicking(),
            Progress::Polling => true,
            Progress::Pending => false,
        };
        let ending = if panicked { Ending::Panicked } else { Ending::Cancelled };
        self.core.settle(self.pass, self.began, ending);
    }
}
