//! The level: what each process can keep while others wait, and the notices about it.

use std::time::Duration;

use super::row::Row;
use super::{Data, Level, Notice, ProcessId, Publish, ServerTime};

/// The level is computed at most once in this time for each row, so that its cost is bounded.
const PAUSE_PER_ROW: Duration = Duration::from_micros(20);

impl Data {
    /// Returns the level while processes wait.
    pub(super) fn level_at(&self, now: ServerTime) -> Option<Level> {
        (now < self.tight).then_some(self.level)
    }

    /// Computes the level anew unless that was done a moment ago.
    pub(super) fn update_level(&mut self, now: ServerTime) {
        let rows = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        if self.leveled == ServerTime::default() || self.leveled.after(PAUSE_PER_ROW.saturating_mul(rows)) <= now {
            (self.level, self.leveled) = (self.fair_level(), now);
        }
    }

    /// Returns the largest level at which each process can have its need up to it, and the first in
    /// line enough to go on: otherwise, a call that costs more than the level would
    /// never have its turn.
    fn fair_level(&self) -> Level {
        let first = self.queue().first().copied();
        let part = |level: Level, process: &ProcessId, row: &Row| {
            let least = if Some(*process) == first { row.least } else { 0 };
            row.fair(level).max(least.min(row.need)).min(wanted(row))
        };
        let fits = |level: Level| {
            let parts = self.rows.iter().map(|(process, row)| u64::from(part(level, process, row)));
            parts.sum::<u64>() <= self.limit.into()
        };
        if fits(Level::UNBOUNDED) {
            return Level::UNBOUNDED;
        }
        // The level 0 fits, and the bound does not.
        let (mut low, mut high) = (0, u32::MAX);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if fits(middle.into()) { low = middle } else { high = middle }
        }
        low.into()
    }

    /// Notifies all processes if some have begun to wait, or if the level is below the highest that
    /// any of them was given, at most once in each calm.
    pub(super) fn tell(&mut self, now: ServerTime, before: Option<Level>, publish: Publish<'_>) {
        let Some(level) = self.level_at(now) else { return };
        let (at, told) = self.told;
        let is_news = before.is_none() || level < told;
        if is_news && now >= at.after(self.declaration.terms.calm) {
            self.told = (now, level);
            publish(Notice::Tight(level));
        }
        // The caller has it from its reply, and may be the only one that it is new for.
        self.told.1 = self.told.1.max(level);
    }

    /// Returns when all processes can be notified of a level that has fallen within a calm.
    pub(super) fn next_news(&self, now: ServerTime) -> Option<ServerTime> {
        let (at, told) = self.told;
        self.level_at(now).filter(|level| *level < told).map(|_| at.after(self.declaration.terms.calm))
    }
}

/// Returns the units that a row can still come to: a silent process gets no more.
fn wanted(row: &Row) -> u32 {
    if row.is_served() { row.need } else { row.granted }
}
