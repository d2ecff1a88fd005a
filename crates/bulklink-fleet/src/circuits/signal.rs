//! Circuits that need the one task of all, and the last commands that are left to it.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use bulklink_breaker::Settings;

use super::replica::Work;
use crate::Name;
use crate::signal::Signal;

/// The last commands of a breaker that was dropped.
#[derive(Debug)]
pub(super) struct Left {
    pub(super) name: Name,
    pub(super) settings: Settings,
    pub(super) work: Vec<Work>,
}

/// The signal to the task, and what others have left for it, which outlives them.
#[derive(Debug, Default)]
pub(super) struct Needs {
    pub(super) signal: Signal,
    left: Mutex<Vec<Left>>,
}

impl Needs {
    pub(super) fn leave(&self, left: Left) {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).push(left);
    }

    pub(super) fn take_left(&self) -> Vec<Left> {
        mem::take(&mut self.left.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Held by everything that needs the task. The task ends after the last of them is dropped.
#[derive(Debug)]
pub(super) struct Keep(pub(super) Arc<Needs>);

impl Drop for Keep {
    fn drop(&mut self) {
        self.0.signal.notify();
    }
}
