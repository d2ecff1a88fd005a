//! Transitions of a circuit, as its handlers see them.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use bulklink::HandlerId;
use bulklink::plumbing::{contain, discard, new_handler_id};

use super::log::{Cause, Log};
use crate::sync::{self, Mutex, MutexGuard};
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
    /// If the circuit was closed, the calls of its window, among them the one that has opened it.
    pub counts: Counts,
}

type Handler = Arc<dyn Fn(&Transition) + Send + Sync>;

/// The handlers, and the transitions that they have not had.
#[derive(Default)]
pub(crate) struct Handlers {
    state: Mutex<Told>,
}

#[derive(Default)]
struct Told {
    handlers: Vec<(HandlerId, Handler)>,
    queue: VecDeque<Queued>,
    /// Whether a thread calls handlers. The others leave their transitions to it.
    is_delivering: bool,
}

struct Queued {
    transition: Transition,
    cause: Cause,
    /// Whether there was a handler. If not, only the log has the transition.
    has_handlers: bool,
}

impl Handlers {
    pub(super) fn add(&self, handler: Handler) -> HandlerId {
        let id = new_handler_id();
        self.lock().handlers.push((id, handler));
        id
    }

    pub(super) fn remove(&self, id: HandlerId) -> bool {
        let mut told = self.lock();
        let removed = told.handlers.iter().position(|(other, _)| *other == id).map(|index| told.handlers.remove(index));
        drop(told);
        let was_there = removed.is_some();
        // It is foreign, and so is dropped outside the lock.
        discard(removed);
        was_there
    }

    /// Appends a transition, under the lock of the circuit, so that they are in order.
    pub(super) fn append(&self, transition: Transition, cause: Cause) {
        let mut told = self.lock();
        let has_handlers = !told.handlers.is_empty();
        if has_handlers || cause.is_wanted() {
            told.queue.push_back(Queued { transition, cause, has_handlers });
        }
    }

    /// Writes the log and calls the handlers, under no lock: they may call the breaker.
    pub(super) fn deliver(&self, log: &Log) {
        let mut told = self.lock();
        if told.is_delivering {
            return;
        }
        while let Some(Queued { transition, cause, has_handlers }) = told.queue.pop_front() {
            told.is_delivering = true;
            let handlers = if has_handlers { told.handlers.clone() } else { Vec::new() };
            drop(told);
            log.write(&transition, cause);
            for (_, handler) in handlers {
                contain(|| handler(&transition));
                // It may have been removed meanwhile, and its drop is foreign, too.
                discard(handler);
            }
            told = self.lock();
            told.is_delivering = false;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Told> {
        sync::lock(&self.state)
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers").field("handlers", &self.lock().handlers.len()).finish_non_exhaustive()
    }
}
