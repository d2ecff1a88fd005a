//! The outcome of an operation, on its way from the task to the handle.

use core::mem;
use core::task::{Poll, Waker};

use super::JoinError;
use crate::foreign::{contain, discard};
use crate::gate::lock::Lock;

type Outcome<T> = Result<T, JoinError>;

/// A place for one outcome, given once and taken once.
pub(crate) struct Answer<T>(Lock<State<T>>);

enum State<T> {
    /// With the waker of the handle, once that has been polled.
    Awaited(Option<Waker>),
    Given(Outcome<T>),
    /// Or the handle was dropped.
    Taken,
}

/// How a look at it went.
enum Seen<T> {
    Given(Outcome<T>),
    Awaited,
    /// Awaited by another waker than this.
    Stale,
    Taken,
}

impl<T> Answer<T> {
    pub(crate) fn new() -> Self {
        Answer(Lock::new(State::Awaited(None)))
    }

    /// Keeps the first outcome, unless the handle was dropped. Any other is dropped.
    pub(crate) fn give(&self, outcome: Outcome<T>) {
        let given = self.0.with(|state| match state {
            State::Awaited(waker) => {
                let waker = waker.take();
                *state = State::Given(outcome);
                Ok(waker)
            }
            State::Given(_) | State::Taken => Err(outcome),
        });
        match given {
            Ok(waker) => _ = waker.map(|waker| contain(|| waker.wake())),
            Err(unwanted) => discard(unwanted),
        }
    }

    /// Takes the outcome, or sees to it that `waker` is woken when it is there.
    ///
    /// # Panics
    ///
    /// If it was taken already.
    pub(crate) fn poll(&self, waker: &Waker) -> Poll<Outcome<T>> {
        let seen = match self.0.with(|state| state.look(waker)) {
            Seen::Stale => self.leave(waker.clone()),
            seen => seen,
        };
        match seen {
            Seen::Given(outcome) => Poll::Ready(outcome),
            Seen::Awaited | Seen::Stale => Poll::Pending,
            Seen::Taken => panic!("polled again after it had completed"),
        }
    }

    /// Takes the outcome, or leaves the waker. What is displaced is dropped outside the lock.
    fn leave(&self, waker: Waker) -> Seen<T> {
        let (seen, displaced) = self.0.with(|state| match (state.look(&waker), state) {
            (Seen::Stale, State::Awaited(awaiting)) => (Seen::Awaited, awaiting.replace(waker)),
            (seen, _) => (seen, Some(waker)),
        });
        discard(displaced);
        seen
    }

    pub(crate) fn is_given(&self) -> bool {
        self.0.with(|state| !matches!(state, State::Awaited(_)))
    }

    /// The handle is dropped, and the outcome with it.
    pub(crate) fn forgo(&self) {
        discard(self.0.with(|state| mem::replace(state, State::Taken)));
    }
}

impl<T> State<T> {
    fn look(&mut self, waker: &Waker) -> Seen<T> {
        match self {
            State::Awaited(Some(awaiting)) if awaiting.will_wake(waker) => Seen::Awaited,
            State::Awaited(_) => Seen::Stale,
            State::Taken => Seen::Taken,
            State::Given(_) => match mem::replace(self, State::Taken) {
                State::Given(outcome) => Seen::Given(outcome),
                _ => unreachable!("just seen"),
            },
        }
    }
}
