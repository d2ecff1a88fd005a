//! A channel for the outcome of one operation, from its task to its handle.

use core::mem;
use core::task::{Poll, Waker};

use super::JoinError;
use crate::foreign::{discard, wake};
use crate::gate::lock::Lock;
use crate::gate::waker_cell::look_or_park;

type Outcome<T> = Result<T, JoinError>;

/// Holds one outcome, which is given once and taken once.
pub(crate) struct Oneshot<T>(Lock<State<T>>);

enum State<T> {
    /// The outcome is not there yet. Holds the waker of the handle, once that has been polled.
    Awaited(Option<Waker>),
    Given(Outcome<T>),
    /// The outcome was taken, or the handle was dropped.
    Taken,
}

impl<T> Oneshot<T> {
    pub(crate) fn new() -> Self {
        Oneshot(Lock::new(State::Awaited(None)))
    }

    /// Keeps the first outcome, unless the handle was dropped. Drops any other.
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
            Ok(waker) => wake(waker),
            Err(unwanted) => discard(unwanted),
        }
    }

    /// Takes the outcome, or leaves `waker`, which [`give`](Oneshot::give) wakes.
    ///
    /// # Panics
    ///
    /// If it was taken already.
    pub(crate) fn poll(&self, waker: &Waker) -> Poll<Outcome<T>> {
        let polled = look_or_park(&self.0, waker, |state| match state {
            State::Awaited(parked) => Err(parked),
            State::Given(_) | State::Taken => Ok(state.take()),
        });
        polled.map(|outcome| outcome.unwrap_or_else(|| panic!("polled again after it had completed")))
    }

    pub(crate) fn is_given(&self) -> bool {
        self.0.with(|state| !matches!(state, State::Awaited(_)))
    }

    /// Drops the outcome, or refuses it when it comes: the handle is dropped.
    pub(crate) fn forgo(&self) {
        discard(self.0.with(|state| mem::replace(state, State::Taken)));
    }
}

impl<T> State<T> {
    fn take(&mut self) -> Option<Outcome<T>> {
        match mem::replace(self, State::Taken) {
            State::Given(outcome) => Some(outcome),
            State::Awaited(_) | State::Taken => None,
        }
    }
}
