//! Wakes the one task that talks to a store.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use bulklink::plumbing::{discard, wake};

/// A flag, the task that waits for it, and the numbers of those that have work for the task.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    state: Mutex<(bool, Option<Waker>)>,
    ready: Mutex<BTreeSet<u64>>,
}

impl Signal {
    /// Sets the flag, and wakes the task. Not under a lock: a waker may run any code.
    pub(crate) fn notify(&self) {
        let waker = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.0 = true;
            state.1.take()
        };
        wake(waker);
    }

    /// Wakes the task for one of them, so that it need not look at all.
    pub(crate) fn notify_of(&self, id: u64) {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
        self.notify();
    }

    pub(crate) fn take_ready(&self) -> BTreeSet<u64> {
        std::mem::take(&mut self.ready.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Completes when the flag is set, and clears it.
    pub(crate) fn poll(&self, context: &Context<'_>) -> Poll<()> {
        let waker = context.waker().clone();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (is_set, displaced) = (std::mem::take(&mut state.0), state.1.replace(waker));
        drop(state);
        discard(displaced);
        if is_set { Poll::Ready(()) } else { Poll::Pending }
    }
}
