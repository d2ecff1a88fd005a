//! How far a submitted operation has come. Its task moves it on; its handle can cancel it.

use alloc::sync::Arc;
use core::mem;
use core::task::{Context, Poll, Waker};

use super::JoinError;
use crate::Runtime;
use crate::acquire::future::{Acquire, Admission, PollAcquire};
use crate::acquire::slot::HeldGrant;
use crate::foreign::{contain, discard};
use crate::gate::lock::Lock;
use crate::gate::shared::Shared;

pub(crate) struct Progress<R: Runtime>(Lock<State<R>>);

struct State<R: Runtime> {
    stage: Stage<R>,
    is_cancelled: bool,
    /// Whether a cancel can still come: there is a handle, and the operation has not ended.
    /// Otherwise no waker is kept here: it may be all that keeps the task alive, and the task keeps
    /// this alive.
    may_cancel: bool,
    /// The task that a cancel wakes.
    task: Option<Waker>,
}

enum Stage<R: Runtime> {
    /// The operation has not begun. Its place in the queue or its slot is here, where a cancel
    /// finds it. `None` while the task polls it, and once a cancel has taken it.
    Pending(Option<Admission<R>>),
    Running,
    Ended,
}

impl<R: Runtime> Progress<R> {
    pub(crate) fn new(admission: Admission<R>) -> Self {
        let stage = Stage::Pending(Some(admission));
        Progress(Lock::new(State { stage, is_cancelled: false, may_cancel: true, task: None }))
    }

    /// Polls the wait in the queue. Completes when the operation can begin, or when it never will.
    pub(crate) fn poll_admitted(&self, context: &mut Context<'_>) -> Poll<Result<(), JoinError>> {
        let picked_up = self.attend(context.waker(), State::pick_up)?;
        let Some(mut waiting) = picked_up else { return Poll::Ready(Ok(())) };
        match waiting.poll_acquire(context) {
            Poll::Pending => {
                self.put_back(Admission::Queued(waiting))?;
                Poll::Pending
            }
            Poll::Ready(Ok(hold)) => Poll::Ready(self.put_back(Admission::Granted(hold))),
            Poll::Ready(Err(rejection)) => Poll::Ready(Err(JoinError::Rejected(rejection))),
        }
    }

    /// Puts the place or the slot back after a poll; gives it back if a cancel came meanwhile.
    fn put_back(&self, admission: Admission<R>) -> Result<(), JoinError> {
        let unwanted = self.0.with(|state| match &mut state.stage {
            Stage::Pending(place) if !state.is_cancelled => {
                *place = Some(admission);
                None
            }
            _ => Some((admission, state.why_lost())),
        });
        let Some((admission, why)) = unwanted else { return Ok(()) };
        give_back(Some(admission));
        Err(why)
    }

    /// Takes the slot. The caller then polls or calls the operation without another look at the
    /// state, as a later cancel counts it as begun.
    pub(crate) fn begin(&self) -> Result<HeldGrant<Arc<Shared>>, JoinError> {
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
        self.attend(waker, |state| state.is_cancelled)
    }

    /// Cancels the operation. If it has not begun, it never does, and its place or slot is given
    /// back here. The task is woken, to drop it. Returns whether it had neither begun nor ended.
    pub(crate) fn cancel(&self) -> bool {
        let (is_pending, admission, task) = self.0.with(|State { stage, is_cancelled, task, .. }| {
            *is_cancelled = true;
            (matches!(stage, Stage::Pending(_)), stage.take_admission(), task.take())
        });
        give_back(admission);
        _ = task.map(|task| contain(|| task.wake()));
        is_pending
    }

    /// Ends an operation that the runtime refused. If the runtime keeps it all the same, it never
    /// begins. Returns why there is no value; `None` if the operation has begun or ended.
    pub(crate) fn refuse(&self) -> Option<JoinError> {
        self.end_if(|stage| matches!(stage, Stage::Pending(_)))
    }

    /// Ends an operation that was dropped. Returns why there is no value, for a task that knows no
    /// outcome; `None` if it ended before.
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
        give_back(admission);
        discard(task);
        Some(why)
    }

    /// The handle is gone, and no cancel can follow.
    pub(crate) fn detach(&self) {
        let unwanted = self.0.with(|State { task, may_cancel, .. }| {
            *may_cancel = false;
            task.take()
        });
        discard(unwanted);
    }

    /// Works with the state and leaves the waker of the task in it, in one turn of the lock: a
    /// cancel is either seen by `work` or wakes the task. The waker is cloned and dropped outside
    /// the lock.
    fn attend<T>(&self, waker: &Waker, work: impl Fn(&mut State<R>) -> T) -> T {
        let attended = self.0.with(|state| (!state.wants(waker)).then(|| work(state)));
        attended.unwrap_or_else(|| {
            let waker = waker.clone();
            let (attended, displaced) = self.0.with(|state| {
                let displaced = if state.may_cancel { state.task.replace(waker) } else { Some(waker) };
                (work(state), displaced)
            });
            discard(displaced);
            attended
        })
    }
}

impl<R: Runtime> State<R> {
    fn wants(&self, waker: &Waker) -> bool {
        self.may_cancel && !self.task.as_ref().is_some_and(|task| task.will_wake(waker))
    }

    /// Takes the wait in the queue, if there is one and not a slot already.
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

    /// Why there is no value, where the task knows no other reason.
    fn why_lost(&self) -> JoinError {
        if self.is_cancelled { JoinError::Cancelled } else { JoinError::Lost }
    }
}

impl<R: Runtime> Stage<R> {
    fn take_admission(&mut self) -> Option<Admission<R>> {
        if let Stage::Pending(admission) = self { admission.take() } else { None }
    }
}

/// Not under the lock, as it wakes and drops. A place in the queue is left by dropping it; a slot
/// that was never used counts as abandoned.
fn give_back<R: Runtime>(admission: Option<Admission<R>>) {
    contain(|| match admission {
        Some(Admission::Granted(hold)) => hold.abandon(),
        queued => drop(queued),
    });
}
