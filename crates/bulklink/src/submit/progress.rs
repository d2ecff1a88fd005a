//! The progress of a submitted operation. Its task moves it on; its handle can cancel it.

use alloc::sync::Arc;
use core::mem;
use core::task::{Context, Poll, Waker};

use super::JoinError;
use crate::Runtime;
use crate::acquire::claim::Claim;
use crate::acquire::future::{Acquire, Admission};
use crate::foreign::{contain, discard, wake};
use crate::gate::lock::Lock;
use crate::gate::shared::Shared;
use crate::gate::waker_cell::look_or_park;

pub(crate) struct Progress<R: Runtime>(Lock<State<R>>);

struct State<R: Runtime> {
    stage: Stage<R>,
    is_cancelled: bool,
    /// Whether a cancel can still come: there is a handle, and the operation has not ended.
    /// Otherwise no waker is kept here, because the waker may be all that keeps the task alive, and
    /// the task keeps this state alive.
    may_cancel: bool,
    /// The waker of the task, for a cancel.
    task: Option<Waker>,
}

enum Stage<R: Runtime> {
    /// The operation has not begun. Its place in the queue or its slot is here, so that a cancel
    /// can give it back. `None` while the task polls it, and once a cancel has taken it.
    Pending(Option<Admission<R>>),
    Running,
    Ended,
}

impl<R: Runtime> Progress<R> {
    pub(crate) fn new(admission: Admission<R>) -> Self {
        let stage = Stage::Pending(Some(admission));
        Progress(Lock::new(State { stage, is_cancelled: false, may_cancel: true, task: None }))
    }

    /// Polls the wait in the queue. Completes when the operation can begin, or with the reason why
    /// it never will.
    pub(crate) fn poll_admitted(&self, context: &mut Context<'_>) -> Poll<Result<(), JoinError>> {
        if self.is_cancelled(context.waker()) {
            return Poll::Ready(Err(JoinError::Cancelled));
        }
        let Some(mut waiting) = self.0.with(State::pick_up)? else { return Poll::Ready(Ok(())) };
        match waiting.poll(context) {
            Poll::Pending => {
                self.put_back(Admission::Queued(waiting))?;
                Poll::Pending
            }
            Poll::Ready(Ok(hold)) => Poll::Ready(self.put_back(Admission::Granted(hold))),
            Poll::Ready(Err(rejection)) => Poll::Ready(Err(JoinError::Rejected(rejection))),
        }
    }

    /// Puts the place or the slot back after a poll, or gives it up if a cancel came meanwhile.
    fn put_back(&self, admission: Admission<R>) -> Result<(), JoinError> {
        let unwanted = self.0.with(|state| match &mut state.stage {
            Stage::Pending(place) if !state.is_cancelled => {
                *place = Some(admission);
                None
            }
            _ => Some((admission, state.why_lost())),
        });
        let Some((admission, why)) = unwanted else { return Ok(()) };
        give_up(Some(admission));
        Err(why)
    }

    /// Takes the slot. The caller must then poll or call the operation without another look at the
    /// state, because a later cancel counts it as begun.
    pub(crate) fn begin(&self) -> Result<Claim<Arc<Shared>>, JoinError> {
        self.0.with(|state| match mem::replace(&mut state.stage, Stage::Running) {
            Stage::Pending(Some(Admission::Granted(hold))) => Ok(hold),
            other => {
                state.stage = other;
                Err(state.why_lost())
            }
        })
    }

    /// Returns whether the operation is cancelled. A later cancel wakes the task.
    pub(crate) fn is_cancelled(&self, waker: &Waker) -> bool {
        let polled = look_or_park(&self.0, waker, |state| {
            if state.is_cancelled || !state.may_cancel { Ok(state.is_cancelled) } else { Err(&mut state.task) }
        });
        polled == Poll::Ready(true)
    }

    /// Cancels the operation. If it has not begun, it never does, and its place or slot is given up
    /// here. Wakes the task, which then drops the operation. Returns whether it had neither begun
    /// nor ended.
    pub(crate) fn cancel(&self) -> bool {
        let (is_pending, admission, task) = self.0.with(|State { stage, is_cancelled, task, .. }| {
            *is_cancelled = true;
            (matches!(stage, Stage::Pending(_)), stage.take_admission(), task.take())
        });
        give_up(admission);
        wake(task);
        is_pending
    }

    /// Ends an operation that the runtime refused. It never begins, even if the runtime keeps it.
    /// Returns the reason why there is no value; `None` if the operation has begun or ended.
    pub(crate) fn refuse(&self) -> Option<JoinError> {
        self.end_if(|stage| matches!(stage, Stage::Pending(_)))
    }

    /// Ends an operation that was dropped. Returns the reason why there is no value, for a task
    /// that has no outcome; `None` if it ended before.
    pub(crate) fn end(&self) -> Option<JoinError> {
        self.end_if(|stage| !matches!(stage, Stage::Ended))
    }

    fn end_if(&self, ends: impl FnOnce(&Stage<R>) -> bool) -> Option<JoinError> {
        let ended = self.0.with(|state| {
            ends(&state.stage).then(|| {
                let admission = state.stage.take_admission();
                state.stage = Stage::Ended;
                state.may_cancel = false;
                (admission, state.task.take(), state.why_lost())
            })
        });
        let (admission, task, why) = ended?;
        give_up(admission);
        discard(task);
        Some(why)
    }

    /// Notes that the handle is dropped: no cancel can come.
    pub(crate) fn detach(&self) {
        let unwanted = self.0.with(|State { task, may_cancel, .. }| {
            *may_cancel = false;
            task.take()
        });
        discard(unwanted);
    }
}

impl<R: Runtime> State<R> {
    /// Takes the wait in the queue, if there is one and it has no slot already.
    fn pick_up(&mut self) -> Result<Option<Acquire<Arc<Shared>, R>>, JoinError> {
        match self.stage.take_admission() {
            Some(Admission::Queued(waiting)) => Ok(Some(waiting)),
            Some(granted) => {
                self.stage = Stage::Pending(Some(granted));
                Ok(None)
            }
            None => Err(self.why_lost()),
        }
    }

    /// Returns the reason why there is no value, for a task that knows no other.
    fn why_lost(&self) -> JoinError {
        if self.is_cancelled { JoinError::Cancelled } else { JoinError::Lost }
    }
}

impl<R: Runtime> Stage<R> {
    fn take_admission(&mut self) -> Option<Admission<R>> {
        if let Stage::Pending(admission) = self { admission.take() } else { None }
    }
}

/// Gives up a place or a slot; a slot that was never used counts as abandoned. Runs outside the
/// lock, because it wakes and drops.
fn give_up<R: Runtime>(admission: Option<Admission<R>>) {
    contain(|| match admission {
        Some(Admission::Granted(hold)) => hold.abandon(),
        queued => drop(queued),
    });
}
