//! A restriction of the model: what it leaves of the capacity.

use super::model::{Model, Time};

impl Model {
    /// Returns how many waiters the change admits.
    pub fn restrict(&mut self, restriction: Option<(usize, usize)>, now: Time) -> usize {
        if self.closed {
            return 0;
        }
        self.advance(now);
        self.restriction = restriction;
        let waited = self.queue.len();
        self.advance(now);
        waited - self.queue.len()
    }

    pub(super) fn effective_capacity(&self) -> usize {
        self.restriction.map_or(self.limits.capacity, |(units, _)| units.min(self.limits.capacity))
    }

    pub fn fits(&self, cost: usize) -> bool {
        let runs_alone = self.restriction.is_some_and(|(units, alone)| units > 0 && cost <= alone);
        cost <= self.free() || runs_alone && self.in_use() == 0 && !self.paused && cost <= self.limits.capacity
    }
}
