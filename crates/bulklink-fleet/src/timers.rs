//! The times at which a task looks again at those that it serves.

use std::collections::{BTreeMap, BTreeSet};

use bulklink::runtime::Instant;

/// When each of many has work again.
#[derive(Default)]
pub(crate) struct Timers {
    queue: BTreeSet<(Instant, u64)>,
    times: BTreeMap<u64, Instant>,
}

impl Timers {
    pub(crate) fn set(&mut self, id: u64, at: Option<Instant>) {
        let old = if let Some(at) = at { self.times.insert(id, at) } else { self.times.remove(&id) };
        if let Some(old) = old {
            self.queue.remove(&(old, id));
        }
        self.queue.extend(at.map(|at| (at, id)));
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.queue.first().map(|(at, _)| *at)
    }

    /// Moves those that are due.
    pub(crate) fn take_due(&mut self, now: Instant, due: &mut BTreeSet<u64>) {
        while let Some((_, id)) = self.queue.first().copied().filter(|(at, _)| *at <= now) {
            self.set(id, None);
            due.insert(id);
        }
    }
}
