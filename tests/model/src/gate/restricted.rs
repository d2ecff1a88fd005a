//! A restriction of the model: the part of the capacity that it leaves.

use super::ask::Ask;
use super::model::{Model, Time};

/// The part of the capacity that a controller leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restricted {
    /// The units that may be in use.
    pub units: usize,
    /// The largest cost of a call that runs alone.
    pub alone: usize,
    /// How long calls wait for more, and up to how many units in use and waited for.
    pub fetch: Option<(Time, usize)>,
}

impl Model {
    /// Returns how many waiters the change admits.
    pub fn restrict(&mut self, restriction: Option<Restricted>, now: Time) -> usize {
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
        self.restriction.map_or(self.limits.capacity, |Restricted { units, .. }| units.min(self.limits.capacity))
    }

    pub fn fits(&self, cost: usize) -> bool {
        let runs_alone = self.restriction.is_some_and(|Restricted { units, alone, .. }| units > 0 && cost <= alone);
        cost <= self.free() || runs_alone && self.in_use() == 0 && !self.paused && cost <= self.limits.capacity
    }
    /// Returns how long a call waits for more than the restriction allows, which finds no room.
    pub(super) fn fetch(&self, ask: Ask) -> Option<Time> {
        let (wait, up_to) = self.restriction?.fetch.filter(|_| ask.fetches && !self.paused)?;
        let load = self.in_use() + self.waiting_units() + ask.cost;
        let is_restricted = self.effective_capacity() < self.limits.capacity;
        (is_restricted && load <= up_to.min(self.limits.capacity)).then_some(wait)
    }
}
