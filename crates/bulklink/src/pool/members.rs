//! The bulkheads of a pool, and its way to them.

use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;

use bulklink_core::Instant;
use bulklink_core::pool::{self, Class, Cost, Demand, Key, LineId};

use crate::gate::outputs::Undelivered;
use crate::gate::shared::{Shared, hint};
use crate::gate::state::GateState;

/// The bulkheads of a pool.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// By the number of the key.
    bulkheads: Vec<Option<Weak<Shared>>>,
    /// By the number of the partition.
    keys: Vec<Option<Key>>,
}

/// The line of the calls of a key.
pub(super) fn line_of(key: Key) -> LineId {
    LineId { key, class: Class::Normal }
}

impl Members {
    pub(super) fn join(&mut self, key: Key, shared: &Shared) {
        let Some(partition) = shared.partition() else { return };
        put(&mut self.bulkheads, key.number(), Weak::clone(&shared.this));
        put(&mut self.keys, partition.to_bits() as usize, key);
    }

    pub(super) fn leave(&mut self, shared: &Shared) -> Option<Key> {
        let key = self.key_of(shared)?;
        self.bulkheads[key.number()] = None;
        self.keys[shared.partition()?.to_bits() as usize].take()
    }

    /// Returns the key of a bulkhead, unless that has left.
    pub(super) fn key_of(&self, shared: &Shared) -> Option<Key> {
        // Its partition may be another's by now.
        if !shared.has(hint::POOLED) {
            return None;
        }
        *self.keys.get(shared.partition()?.to_bits() as usize)?
    }

    pub(super) fn get(&self, key: Key) -> Option<Arc<Shared>> {
        self.bulkheads.get(key.number())?.as_ref()?.upgrade()
    }

    /// Returns the way to all bulkheads. Their outputs come into `reach`.
    pub(super) fn lines<'a>(&'a self, reach: &'a mut Reach) -> Lines<'a> {
        Lines { members: self, reach }
    }
}

fn put<T>(items: &mut Vec<Option<T>>, number: usize, item: T) {
    if number >= items.len() {
        items.resize_with(number + 1, || None);
    }
    items[number] = Some(item);
}

/// The bulkheads that an input has reached, with their outputs, if there are any: to drop one is
/// foreign, too.
pub(crate) type Reach = Vec<Undelivered>;

/// The way of a pool to all its bulkheads, under its lock.
pub(super) struct Lines<'a> {
    members: &'a Members,
    reach: &'a mut Reach,
}

impl Lines<'_> {
    fn with<T>(&mut self, line: LineId, work: impl FnOnce(&mut GateState) -> T) -> Option<T> {
        let shared = self.members.get(line.key)?;
        let (worked, outputs) = shared.member(|state| {
            let worked = work(state);
            (worked, Shared::take_undelivered(state))
        });
        self.reach.push((shared, outputs));
        Some(worked)
    }
}

impl pool::Lines for Lines<'_> {
    fn recall(&mut self, line: LineId) -> Demand {
        self.with(line, |state| state.demand()).unwrap_or(Demand::NONE)
    }

    fn admit(&mut self, line: LineId, cost: Cost, now: Instant) -> (bool, Demand) {
        let admitted = self.with(line, |state| {
            let is_admitted = state.gate.admit_first(cost, now);
            state.note_use(now);
            (is_admitted, state.demand())
        });
        admitted.unwrap_or((false, Demand::NONE))
    }

    fn largest_cost(&mut self, line: LineId) -> Cost {
        let largest = self.with(line, |state| state.gate.largest_waiting_cost()).unwrap_or(0);
        [u32::try_from(largest).unwrap_or(u32::MAX), 0]
    }

    fn displace(&mut self, line: LineId, now: Instant) -> Demand {
        let displaced = self.with(line, |state| {
            state.gate.displace_last(now);
            state.demand()
        });
        displaced.unwrap_or(Demand::NONE)
    }
}
