//! What a submitted operation and its handle share.

use alloc::sync::Arc;
use core::ops::Deref;
use core::task::{Context, Poll, Waker, ready};

use super::JoinError;
use super::answer::Answer;
use super::progress::{Ended, Progress, Stopped, Waited};
use crate::foreign::contain;
use crate::shared::Shared;
use crate::slot::Hold;
use crate::waiting::Admission;
use crate::{Runtime, SpawnError};

pub(crate) struct Job<T, R: Runtime> {
    progress: Progress<R>,
    answer: Answer<T>,
}

impl<T, R: Runtime> Job<T, R> {
    pub(crate) fn new(admission: Admission<R>) -> Arc<Self> {
        Arc::new(Job { progress: Progress::new(admission), answer: Answer::new() })
    }

    /// Has the runtime run it. What it refuses and keeps nevertheless never begins.
    pub(crate) fn launch(&self, spawn: impl FnOnce() -> Result<(), SpawnError>) -> Result<(), SpawnError> {
        let mut launched = Err(SpawnError::new("it panicked"));
        contain(|| launched = spawn());
        if launched.is_err() {
            self.stop(JoinError::Lost);
        }
        launched
    }

    /// Returns whether it had not begun.
    fn stop(&self, why: JoinError) -> bool {
        let (stopped, task) = self.progress.stop();
        if let Stopped::GivenUp = stopped {
            self.answer.give(Err(why));
        }
        _ = task.map(|task| contain(|| task.wake()));
        !matches!(stopped, Stopped::TooLate)
    }
}

/// A [`Job`] as its handle sees it, whatever it runs on.
pub(crate) trait Join<T>: Send + Sync {
    fn poll(&self, waker: &Waker) -> Poll<Result<T, JoinError>>;

    fn is_finished(&self) -> bool;

    /// Returns whether it had not begun.
    fn cancel(&self) -> bool;

    fn detach(&self);
}

impl<T: Send, R: Runtime<Sleep: Send>> Join<T> for Job<T, R> {
    fn poll(&self, waker: &Waker) -> Poll<Result<T, JoinError>> {
        self.answer.poll(waker)
    }

    fn is_finished(&self) -> bool {
        self.answer.is_given()
    }

    fn cancel(&self) -> bool {
        self.stop(JoinError::Cancelled)
    }

    fn detach(&self) {
        self.progress.detach();
        self.answer.forgo();
    }
}

/// The side of the task. Dropping it before there is an outcome says that there will be none.
pub(crate) struct Reporter<T, R: Runtime>(Arc<Job<T, R>>);

impl<T, R: Runtime> Reporter<T, R> {
    pub(crate) fn new(job: &Arc<Job<T, R>>) -> Self {
        Reporter(Arc::clone(job))
    }

    pub(crate) fn job(&self) -> &Arc<Job<T, R>> {
        &self.0
    }

    /// Whether it may begin, once that is clear.
    pub(crate) fn poll_admitted(&self, context: &mut Context<'_>) -> Poll<bool> {
        match ready!(self.progress.poll_admitted(context)) {
            Waited::Admitted => return Poll::Ready(true),
            Waited::Rejected(rejection) => self.give(Err(JoinError::Rejected(rejection))),
            Waited::Unwanted => self.give(Err(JoinError::Cancelled)),
            Waited::GivenUp => {}
        }
        Poll::Ready(false)
    }

    pub(crate) fn begin(&self) -> Option<Hold<Arc<Shared>>> {
        self.progress.begin()
    }

    pub(crate) fn is_stopping(&self, waker: &Waker) -> bool {
        self.progress.is_stopping(waker)
    }

    pub(crate) fn give(&self, outcome: Result<T, JoinError>) {
        self.answer.give(outcome);
    }
}

impl<T, R: Runtime> Deref for Reporter<T, R> {
    type Target = Job<T, R>;

    fn deref(&self) -> &Job<T, R> {
        &self.0
    }
}

impl<T, R: Runtime> Drop for Reporter<T, R> {
    fn drop(&mut self) {
        match self.progress.end() {
            Ended::Unasked => self.give(Err(JoinError::Lost)),
            Ended::Stopped => self.give(Err(JoinError::Cancelled)),
            Ended::GivenUp => {}
        }
    }
}
