//! How far a submitted operation has come. Until it begins, its place or its slot lies here, where whoever gives it up finds it.

use alloc::sync::Arc;
use core::mem;
use core::task::{Context, Poll, Waker};

use crate::foreign::discard;
use crate::shared::Shared;
use crate::slot::Hold;
use crate::sync::Lock;
use crate::waiting::{Admission, PollHold, Waiting};
use crate::{Rejection, Runtime};

pub(crate) struct Progress<R: Runtime>(Lock<State<R>>);

struct State<R: Runtime> {
    stage: Stage<R>,
    /// Who is to hear that it has been stopped.
    task: Option<Waker>,
    /// Whether nobody can stop it any more. Then no waker is kept: it would hold the task alive that holds this.
    detached: bool,
}

enum Stage<R: Runtime> {
    Queued(Waiting<Arc<Shared>, R>),
    /// Queued, and in the hands of the task that polls just now.
    Polled,
    Admitted(Hold<Arc<Shared>>),
    Running,
    /// Running, and asked to end.
    Stopping,
    /// Given up before it began, by somebody who says so.
    GivenUp,
    /// Given up while it was polled, which is for the task to say.
    Unwanted,
    Ended,
}

/// How the wait in the queue has ended.
pub(crate) enum Waited {
    Admitted,
    Rejected(Rejection),
    /// By being given up; the task says so.
    Unwanted,
    /// By being given up; whoever did that says so.
    GivenUp,
}

/// What stopping an operation came to.
pub(crate) enum Stopped {
    /// It never begins, and that is to be said now.
    GivenUp,
    /// It never begins, and the task says so.
    Unwanted,
    /// It runs, or has ended.
    TooLate,
}

/// What is left to be said when a task has ended.
pub(crate) enum Ended {
    /// It had been stopped.
    Stopped,
    /// Nobody asked for it, unless it has come to its end.
    Unasked,
    /// Nothing: somebody else is about to.
    GivenUp,
}

impl<R: Runtime> Progress<R> {
    pub(crate) fn new(admission: Admission<R>) -> Self {
        let stage = match admission {
            Admission::Granted(hold) => Stage::Admitted(hold),
            Admission::Queued(waiting) => Stage::Queued(waiting),
        };
        Progress(Lock::new(State { stage, task: None, detached: false }))
    }

    /// Looks after the wait, until it has ended.
    pub(crate) fn poll_admitted(&self, context: &mut Context<'_>) -> Poll<Waited> {
        let mut waiting = match self.attend(context.waker(), Stage::pick_up) {
            Ok(waiting) => waiting,
            Err(waited) => return Poll::Ready(waited),
        };
        match waiting.poll_hold(context) {
            Poll::Pending => self.put_down(Stage::Queued(waiting)).map_or_else(Poll::Ready, |()| Poll::Pending),
            Poll::Ready(Ok(hold)) => {
                Poll::Ready(self.put_down(Stage::Admitted(hold)).map_or_else(|waited| waited, |()| Waited::Admitted))
            }
            Poll::Ready(Err(rejection)) => Poll::Ready(Waited::Rejected(rejection)),
        }
    }

    /// Puts down what the task has in its hands, unless it was given up meanwhile.
    fn put_down(&self, stage: Stage<R>) -> Result<(), Waited> {
        let unwanted = self.0.with(|state| match state.stage {
            Stage::Polled => {
                state.stage = stage;
                None
            }
            _ => Some(stage),
        });
        unwanted.map_or(Ok(()), |stage| {
            stage.give_back();
            Err(Waited::Unwanted)
        })
    }

    /// From now on it runs in this slot; unless it has none, or was given up.
    pub(crate) fn begin(&self) -> Option<Hold<Arc<Shared>>> {
        self.0.with(|state| match mem::replace(&mut state.stage, Stage::Running) {
            Stage::Admitted(hold) => Some(hold),
            other => {
                state.stage = other;
                None
            }
        })
    }

    /// Whether what runs has been asked to end. If it is later, the task is woken.
    pub(crate) fn is_stopping(&self, waker: &Waker) -> bool {
        self.attend(waker, |stage| matches!(stage, Stage::Stopping))
    }

    /// Gives up what has not begun, and asks what runs to end. Returns the task besides, to be woken once all is said.
    pub(crate) fn stop(&self) -> (Stopped, Option<Waker>) {
        let (stage, task) = self.0.with(|State { stage, task, .. }| (stage.stop(), task.take()));
        let stopped = match stage {
            Stage::Queued(_) | Stage::Admitted(_) => Stopped::GivenUp,
            Stage::Polled => Stopped::Unwanted,
            _ => Stopped::TooLate,
        };
        stage.give_back();
        (stopped, task)
    }

    /// The task is gone.
    pub(crate) fn end(&self) -> Ended {
        let (stage, task) = self.0.with(|State { stage, task, .. }| (mem::replace(stage, Stage::Ended), task.take()));
        let ended = match stage {
            Stage::GivenUp => Ended::GivenUp,
            Stage::Unwanted | Stage::Stopping => Ended::Stopped,
            _ => Ended::Unasked,
        };
        stage.give_back();
        discard(task);
        ended
    }

    /// Nobody stops it from now on.
    pub(crate) fn detach(&self) {
        let unwanted = self.0.with(|State { task, detached, .. }| {
            *detached = true;
            task.take()
        });
        discard(unwanted);
    }

    /// Works with the stage, and leaves the waker of the task that does. A clone is foreign code, and happens outside the lock.
    fn attend<T>(&self, waker: &Waker, work: impl Fn(&mut Stage<R>) -> T) -> T {
        let attended = self.0.with(|state| (!state.wants(waker)).then(|| work(&mut state.stage)));
        attended.unwrap_or_else(|| {
            let waker = waker.clone();
            let (attended, displaced) = self.0.with(|state| {
                let displaced = if state.detached { Some(waker) } else { state.task.replace(waker) };
                (work(&mut state.stage), displaced)
            });
            discard(displaced);
            attended
        })
    }
}

impl<R: Runtime> State<R> {
    fn wants(&self, waker: &Waker) -> bool {
        !self.detached && !self.task.as_ref().is_some_and(|task| task.will_wake(waker))
    }
}

impl<R: Runtime> Stage<R> {
    /// Hands the wait to the task, if there is one.
    fn pick_up(&mut self) -> Result<Waiting<Arc<Shared>, R>, Waited> {
        match mem::replace(self, Stage::Polled) {
            Stage::Queued(waiting) => Ok(waiting),
            other => {
                *self = other;
                Err(if let Stage::Admitted(_) = self { Waited::Admitted } else { Waited::GivenUp })
            }
        }
    }

    /// Returns what it was.
    fn stop(&mut self) -> Self {
        let stopped = match self {
            Stage::Queued(_) | Stage::Admitted(_) | Stage::GivenUp => Stage::GivenUp,
            Stage::Polled | Stage::Unwanted => Stage::Unwanted,
            Stage::Running | Stage::Stopping => Stage::Stopping,
            Stage::Ended => Stage::Ended,
        };
        mem::replace(self, stopped)
    }

    /// Outside the lock: a place in the queue goes by being dropped, and a slot that was never used is counted as such.
    fn give_back(self) {
        if let Stage::Admitted(hold) = self {
            hold.abandon();
        }
    }
}
