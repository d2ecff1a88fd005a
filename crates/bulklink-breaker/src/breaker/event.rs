//! Transitions of a circuit, as its handlers see them.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Counts, State};

/// A transition of a circuit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transition {
    /// The name of the breaker.
    pub label: Arc<str>,
    /// The state before.
    pub from: State,
    /// The state after.
    pub to: State,
    /// The number of the transition.
    pub generation: u64,
    /// Whether it was made by hand.
    pub is_forced: bool,
    /// The calls of the window just before it, if the circuit was closed.
    pub counts: Counts,
}

type Handler = Arc<dyn Fn(&Transition) + Send + Sync>;

/// The handlers, and the transitions that they have not been told.
#[derive(Default)]
pub(crate) struct Handlers {
    state: Mutex<Told>,
}

#[derive(Default)]
struct Told {
    handlers: Vec<Handler>,
    queue: VecDeque<Transition>,
    /// Whether a thread calls handlers. The others leave their transitions to it.
    is_delivering: bool,
}

impl Handlers {
    pub(super) fn add(&self, handler: Handler) {
        self.lock().handlers.push(handler);
    }

    /// Appends a transition, under the lock of the circuit, so that they are in order.
    pub(super) fn append(&self, transition: Transition) {
        let mut told = self.lock();
        if !told.handlers.is_empty() {
            told.queue.push_back(transition);
        }
    }

    /// Calls the handlers, under no lock: they may call the breaker.
    pub(super) fn deliver(&self) {
        let mut told = self.lock();
        if told.is_delivering {
            return;
        }
        while let Some(transition) = told.queue.pop_front() {
            told.is_delivering = true;
            let handlers = told.handlers.clone();
            drop(told);
            for handler in &handlers {
                // The panic hook has reported it. The payload's own drop could panic again.
                if let Err(payload) = catch_unwind(AssertUnwindSafe(|| handler(&transition))) {
                    std::mem::forget(payload);
                }
            }
            told = self.lock();
            told.is_delivering = false;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Told> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers").field("handlers", &self.lock().handlers.len()).finish_non_exhaustive()
    }
}
