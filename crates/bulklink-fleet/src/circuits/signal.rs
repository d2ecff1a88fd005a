//! Wakes the one task that synchronizes.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};

use bulklink_breaker::Settings;

use super::replica::Rest;
use crate::Name;
use crate::fleet::foreign::{contain, discard};

/// A flag, the task that waits for it, and the breakers that have work for the task.
#[derive(Debug, Default)]
pub(super) struct Signal {
    state: Mutex<(bool, Option<Waker>)>,
    ready: Mutex<BTreeSet<u64>>,
    left: Mutex<Vec<Left>>,
}

/// What a breaker that was dropped had yet to send.
#[derive(Debug)]
pub(super) struct Left {
    pub(super) name: Name,
    pub(super) settings: Settings,
    pub(super) rest: Rest,
}

/// Held by everything that needs the task. The task ends after the last of them is dropped.
#[derive(Debug)]
pub(super) struct Keep(pub(super) std::sync::Arc<Signal>);

impl Drop for Keep {
    fn drop(&mut self) {
        self.0.notify();
    }
}

impl Signal {
    /// Sets the flag, and wakes the task. Not under a lock: a waker may run any code.
    pub(super) fn notify(&self) {
        let waker = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.0 = true;
            state.1.take()
        };
        if let Some(waker) = waker {
            contain(|| waker.wake());
        }
    }

    /// Wakes the task for one breaker, so that it need not look at all of them.
    pub(super) fn notify_of(&self, id: u64) {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
        self.notify();
    }

    pub(super) fn take_ready(&self) -> BTreeSet<u64> {
        std::mem::take(&mut self.ready.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn leave(&self, left: Left) {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).push(left);
    }

    pub(super) fn take_left(&self) -> Vec<Left> {
        std::mem::take(&mut self.left.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Completes when the flag is set, and clears it.
    pub(super) fn poll(&self, context: &Context<'_>) -> Poll<()> {
        let waker = context.waker().clone();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (is_set, displaced) = (std::mem::take(&mut state.0), state.1.replace(waker));
        drop(state);
        discard(displaced);
        if is_set { Poll::Ready(()) } else { Poll::Pending }
    }
}
