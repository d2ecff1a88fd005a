//! A model of a bulkhead: a count of units in use, a ceiling, and calls that wait in FIFO order.

use std::collections::VecDeque;

/// A bulkhead. Each call costs one unit, and has the time of its arrival.
#[derive(Debug)]
pub(super) struct Bulkhead {
    pub(super) ceiling: u32,
    pub(super) in_use: u32,
    queue: VecDeque<u64>,
    room: usize,
    /// The calls that were rejected, and the highest load, since they were last asked for.
    pub(super) refused: u32,
    pub(super) peak: u32,
}

/// What comes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entered {
    Admitted,
    Queued,
    Rejected,
}

impl Bulkhead {
    pub(super) fn new(ceiling: u32, room: usize) -> Self {
        Self { ceiling, in_use: 0, queue: VecDeque::new(), room, refused: 0, peak: 0 }
    }

    pub(super) fn enter(&mut self, now: u64) -> Entered {
        let entered = if self.queue.is_empty() && self.in_use < self.ceiling {
            self.in_use += 1;
            Entered::Admitted
        } else if self.queue.len() < self.room {
            self.queue.push_back(now);
            Entered::Queued
        } else {
            self.refused += 1;
            Entered::Rejected
        };
        self.peak = self.peak.max(self.in_use + self.waiting());
        entered
    }

    pub(super) fn leave(&mut self) {
        self.in_use -= 1;
    }

    /// Admits the next call that waits, if a unit is free. Returns when it arrived.
    pub(super) fn admit(&mut self) -> Option<u64> {
        if self.in_use >= self.ceiling {
            return None;
        }
        let arrived = self.queue.pop_front()?;
        self.in_use += 1;
        Some(arrived)
    }

    pub(super) fn waiting(&self) -> u32 {
        u32::try_from(self.queue.len()).unwrap_or(u32::MAX)
    }
}
