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
    all: Vec<Member>,
    /// By the number of the partition.
    keys: Vec<Option<Key>>,
}

/// A key, with its bulkhead if it has one.
#[derive(Debug, Default)]
struct Member {
    bulkhead: Option<Weak<Shared>>,
    /// Whether the key stays without a bulkhead, because it has a share of its own.
    is_own: bool,
}

/// The line of the calls of a key.
pub(super) fn line_of(key: Key) -> LineId {
    LineId { key, class: Class::Normal }
}

impl Members {
    pub(super) fn join(&mut self, key: Key, shared: &Shared) {
        let Some(partition) = shared.partition() else { return };
        self.at(key).bulkhead = Some(Weak::clone(&shared.this));
        let number = partition.to_bits() as usize;
        if number >= self.keys.len() {
            self.keys.resize(number + 1, None);
        }
        self.keys[number] = Some(key);
    }

    /// Has a key stay without a bulkhead.
    pub(super) fn own(&mut self, key: Key) {
        self.at(key).is_own = true;
    }

    /// Returns the key of the bulkhead, and whether it stays.
    pub(super) fn leave(&mut self, shared: &Shared) -> Option<(Key, bool)> {
        let key = self.key_of(shared)?;
        self.keys[shared.partition()?.to_bits() as usize] = None;
        let member = self.at(key);
        member.bulkhead = None;
        Some((key, member.is_own))
    }

    fn at(&mut self, key: Key) -> &mut Member {
        let number = key.number();
        if number >= self.all.len() {
            self.all.resize_with(number + 1, Member::default);
        }
        &mut self.all[number]
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
        self.all.get(key.number())?.bulkhead.as_ref()?.upgrade()
    }

    /// Returns the way to all bulkheads. Their outputs come into `reach`.
    pub(super) fn lines<'a>(&'a self, reach: &'a mut Reach) -> Lines<'a> {
        Lines { members: self, reach }
    }
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
