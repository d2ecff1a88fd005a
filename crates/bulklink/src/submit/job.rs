//! The state that the task of a submitted operation shares with its handle.

use alloc::sync::Arc;
use core::mem;
use core::task::{Context, Poll, Waker};

use futures_core::future::BoxFuture;

use super::JoinError;
use crate::acquire::claim::Claim;
use crate::foreign::{contain, discard, wake};
use crate::gate::lock::Lock;
use crate::gate::park::look_or_park;
use crate::gate::shared::Shared;
use crate::time::runtime::DynClock;
use crate::{Rejection, SpawnError};

pub(crate) struct Job<T> {
    state: Lock<State<T>>,
    runtime: Arc<dyn DynClock>,
}

struct State<T> {
    stage: Stage<T>,
    is_cancelled: bool,
    has_handle: bool,
    /// The waker of the task, which a cancel wakes. It is dropped with the handle and when the
    /// operation has ended: it may keep the task alive, and the task keeps this state alive.
    task: Option<Waker>,
    /// The waker of the task that awaits the handle, for the outcome.
    handle: Option<Waker>,
}

/// How far an operation is. Until it begins, its place in the queue or its slot is here, so that a
/// cancel can give it back.
pub(crate) enum Stage<T> {
    /// The place in the queue. It is boxed, so that a job does not depend on the type of its
    /// runtime.
    Queued(BoxFuture<'static, Result<Claim<Arc<Shared>>, Rejection>>),
    Granted(Claim<Arc<Shared>>),
    /// The operation has not begun. Its task polls the place in the queue, or a cancel has taken
    /// the place or the slot.
    Taken,
    /// The operation has begun. A cancel comes too late.
    Begun,
    /// The operation never begins. Its place or slot is being given up, before the end.
    Lost,
    /// The operation has an outcome: `None` once the handle has taken it, and without a handle.
    Ended(Option<Result<T, JoinError>>),
}

impl<T> Job<T> {
    pub(crate) fn new(stage: Stage<T>, runtime: Arc<dyn DynClock>) -> Arc<Self> {
        Arc::new(Job {
            state: Lock::new(State { stage, is_cancelled: false, has_handle: true, task: None, handle: None }),
            runtime,
        })
    }

    /// Asks the runtime to run the operation. If the runtime refuses, the operation never begins.
    /// The outcome is given here then, because a runtime that refuses may still keep the task for
    /// ever.
    pub(crate) fn launch(&self, spawn: impl FnOnce() -> Result<(), SpawnError>) -> Result<(), SpawnError> {
        let mut launched = Err(SpawnError::new("it panicked"));
        contain(|| launched = spawn());
        if launched.is_err() {
            self.lose_if(Stage::is_pending);
        }
        launched
    }

    /// Polls the wait in the queue. Completes when the operation can begin, or with the reason why
    /// it never will.
    pub(crate) fn poll_admitted(&self, context: &mut Context<'_>) -> Poll<Result<(), JoinError>> {
        if self.is_cancelled(context.waker()) {
            return Poll::Ready(Err(JoinError::Cancelled));
        }
        let picked_up = self.state.with(|state| match mem::replace(&mut state.stage, Stage::Taken) {
            Stage::Queued(place) => Ok(Some(place)),
            other => {
                state.stage = other;
                if matches!(state.stage, Stage::Granted(_)) { Ok(None) } else { Err(state.why_lost()) }
            }
        });
        let Some(mut place) = picked_up? else { return Poll::Ready(Ok(())) };
        match place.as_mut().poll(context) {
            Poll::Pending => {
                self.put_back(Stage::Queued(place))?;
                Poll::Pending
            }
            Poll::Ready(Ok(claim)) => Poll::Ready(self.put_back(Stage::Granted(claim))),
            Poll::Ready(Err(rejection)) => Poll::Ready(Err(JoinError::Rejected(rejection))),
        }
    }

    /// Puts the place or the slot back after a poll, or gives it up if a cancel came meanwhile.
    fn put_back(&self, place: Stage<T>) -> Result<(), JoinError> {
        let unwanted = self.state.with(|state| match state.stage {
            Stage::Taken if !state.is_cancelled => {
                state.stage = place;
                None
            }
            _ => Some((place, state.why_lost())),
        });
        let Some((place, why)) = unwanted else { return Ok(()) };
        place.give_up();
        Err(why)
    }

    /// Takes the slot. The caller must then poll or call the operation without another look at the
    /// state, because a later cancel counts it as begun.
    pub(crate) fn begin(&self) -> Result<Claim<Arc<Shared>>, JoinError> {
        self.state.with(|state| match mem::replace(&mut state.stage, Stage::Begun) {
            Stage::Granted(claim) => Ok(claim),
            other => {
                state.stage = other;
                Err(state.why_lost())
            }
        })
    }

    /// Returns whether the operation is cancelled. A later cancel wakes the task.
    pub(crate) fn is_cancelled(&self, waker: &Waker) -> bool {
        let polled = look_or_park(&self.state, waker, |state| {
            if state.is_cancelled || !state.has_handle { Ok(state.is_cancelled) } else { Err(&mut state.task) }
        });
        polled == Poll::Ready(true)
    }

    /// Gives the outcome. Must be called after the operation was dropped and its slot released. The
    /// first outcome is kept for the handle, if there still is one; any other is dropped.
    pub(crate) fn end(&self, outcome: Result<T, JoinError>) {
        self.end_if(Stage::is_live, outcome);
    }

    fn end_if(&self, ends: impl FnOnce(&Stage<T>) -> bool, outcome: Result<T, JoinError>) {
        let mut outcome = Some(outcome);
        let (task, handle) = self.state.with(|state| {
            let ends = ends(&state.stage);
            if ends {
                // Nothing is dropped under the lock: the place or the slot was taken before.
                state.stage = Stage::Ended(if state.has_handle { outcome.take() } else { None });
            }
            (state.task.take(), if ends { state.handle.take() } else { None })
        });
        discard(task);
        discard(outcome);
        wake(handle);
    }

    /// Ends the operation without a value, unless it has an outcome.
    pub(crate) fn lose(&self) {
        self.lose_if(Stage::is_live);
    }

    /// Ends the operation without a value, if `is_lost` holds for its stage.
    fn lose_if(&self, is_lost: impl FnOnce(&Stage<T>) -> bool) {
        let lost = self.state.with(|state| {
            is_lost(&state.stage).then(|| (mem::replace(&mut state.stage, Stage::Lost), state.why_lost()))
        });
        if let Some((place, why)) = lost {
            // Before the end: the slot is free when the handle completes.
            place.give_up();
            self.end_if(|stage| matches!(stage, Stage::Lost), Err(why));
        }
    }
}

impl<T> State<T> {
    /// Returns the outcome of an operation that gives no value and no error: cancelled or lost.
    fn why_lost(&self) -> JoinError {
        if self.is_cancelled { JoinError::Cancelled } else { JoinError::Lost }
    }
}

impl<T> Stage<T> {
    fn is_pending(&self) -> bool {
        matches!(self, Stage::Queued(_) | Stage::Granted(_) | Stage::Taken)
    }

    fn is_live(&self) -> bool {
        self.is_pending() || matches!(self, Stage::Begun)
    }

    /// Gives up a place or a slot; a slot that was never used counts as abandoned. Runs outside the
    /// lock, because it wakes and drops.
    fn give_up(self) {
        contain(|| match self {
            Stage::Granted(claim) => claim.abandon(),
            queued => drop(queued),
        });
    }
}

/// The methods that the handle calls.
impl<T> Job<T> {
    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<Result<T, JoinError>> {
        let mut outcome = None;
        let mut poll = |context: &mut Context<'_>| {
            let polled = look_or_park(&self.state, context.waker(), |state| match &mut state.stage {
                Stage::Ended(outcome) => Ok(outcome.take()),
                _ => Err(&mut state.handle),
            });
            polled.map(|given| outcome = given)
        };
        let polled = self.runtime.cooperate(context, &mut poll);
        polled.map(|()| outcome.unwrap_or_else(|| panic!("polled again after it had completed")))
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.state.with(|state| matches!(state.stage, Stage::Ended(_)))
    }

    /// Cancels the operation. If it has not begun, it never does, and its place or slot is given up
    /// here. Wakes the task, which then drops the operation. Returns whether it had neither begun
    /// nor ended.
    pub(crate) fn cancel(&self) -> bool {
        let (place, task) = self.state.with(|state| {
            state.is_cancelled = true;
            let place = state.stage.is_pending().then(|| mem::replace(&mut state.stage, Stage::Taken));
            (place, state.task.take())
        });
        let is_pending = place.is_some();
        if let Some(place) = place {
            place.give_up();
        }
        wake(task);
        is_pending
    }

    /// Notes that the handle is dropped: no cancel can come, and the outcome is dropped.
    pub(crate) fn detach(&self) {
        let (task, handle, outcome) = self.state.with(|state| {
            state.has_handle = false;
            let outcome = if let Stage::Ended(outcome) = &mut state.stage { outcome.take() } else { None };
            (state.task.take(), state.handle.take(), outcome)
        });
        discard(task);
        discard(handle);
        discard(outcome);
    }
}
