//! The state that the task of a submitted operation shares with its handle.

use alloc::sync::Arc;
use core::ops::Deref;
use core::task::{Context, Poll};

use super::JoinError;
use super::oneshot::Oneshot;
use super::progress::Progress;
use crate::acquire::future::Admission;
use crate::foreign::contain;
use crate::gate::shared::Shared;
use crate::time::runtime::DynClock;
use crate::{Runtime, SpawnError};

pub(crate) struct Job<T, R: Runtime> {
    progress: Progress<R>,
    outcome: Oneshot<T>,
    runtime: Arc<dyn DynClock>,
}

impl<T, R: Runtime> Job<T, R> {
    pub(crate) fn new(admission: Admission<R>, shared: &Shared) -> Arc<Self> {
        let runtime = Arc::clone(&shared.runtime);
        Arc::new(Job { progress: Progress::new(admission), outcome: Oneshot::new(), runtime })
    }

    /// Asks the runtime to run the operation. If the runtime refuses, the operation never begins.
    /// The outcome is given here then, because a runtime that refuses may still keep the task for
    /// ever.
    pub(crate) fn launch(&self, spawn: impl FnOnce() -> Result<(), SpawnError>) -> Result<(), SpawnError> {
        let mut launched = Err(SpawnError::new("it panicked"));
        contain(|| launched = spawn());
        if launched.is_err() {
            if let Some(why) = self.progress.refuse() {
                self.outcome.give(Err(why));
            }
        }
        launched
    }
}

/// The side of the handle, without the type of the runtime.
pub(crate) trait Join<T>: Send + Sync {
    fn poll(&self, context: &mut Context<'_>) -> Poll<Result<T, JoinError>>;

    fn is_finished(&self) -> bool;

    /// Returns whether the operation had neither begun nor ended.
    fn cancel(&self) -> bool;

    fn detach(&self);
}

impl<T: Send, R: Runtime<Sleep: Send>> Join<T> for Job<T, R> {
    fn poll(&self, context: &mut Context<'_>) -> Poll<Result<T, JoinError>> {
        let mut outcome = Err(JoinError::Lost);
        let mut poll = |context: &mut Context<'_>| self.outcome.poll(context.waker()).map(|given| outcome = given);
        self.runtime.cooperate(context, &mut poll).map(|()| outcome)
    }

    fn is_finished(&self) -> bool {
        self.outcome.is_given()
    }

    fn cancel(&self) -> bool {
        self.progress.cancel()
    }

    fn detach(&self) {
        self.progress.detach();
        self.outcome.forgo();
    }
}

/// The side of the task, which gives the outcome. The task drops the operation first and the
/// reporter last, so the operation has been dropped when the handle completes.
pub(crate) struct Reporter<T, R: Runtime>(Arc<Job<T, R>>);

impl<T, R: Runtime> Reporter<T, R> {
    pub(crate) fn new(job: &Arc<Job<T, R>>) -> Self {
        Reporter(Arc::clone(job))
    }

    pub(crate) fn job(&self) -> &Arc<Job<T, R>> {
        &self.0
    }

    pub(crate) fn give(&self, outcome: Result<T, JoinError>) {
        self.0.progress.end();
        self.0.outcome.give(outcome);
    }
}

impl<T, R: Runtime> Deref for Reporter<T, R> {
    type Target = Progress<R>;

    fn deref(&self) -> &Progress<R> {
        &self.0.progress
    }
}

/// If no outcome was given, the runtime dropped the task.
impl<T, R: Runtime> Drop for Reporter<T, R> {
    fn drop(&mut self) {
        if let Some(why) = self.0.progress.end() {
            self.0.outcome.give(Err(why));
        }
    }
}
