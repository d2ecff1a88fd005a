//! The bulkheads of a pool, and its way to them.

use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::cell::Cell;

use bulklink_core::Instant;
use bulklink_core::pool::{self, Class, Demand, Key, LineId};

use crate::gate::outputs::Undelivered;
use crate::gate::shared::{Shared, hint};
use crate::gate::state::GateState;

/// The bulkheads of a pool.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// By the number of the key.
    all: Vec<Member>,
    /// By the number of the partition.
    lines: Vec<Option<LineId>>,
    /// The waiters that were admitted in their turns.
    admitted: Cell<usize>,
}

/// A key, with its bulkheads by class.
#[derive(Debug, Default)]
struct Member {
    bulkheads: [Option<Weak<Shared>>; Class::ALL.len()],
    /// Whether the key stays without a bulkhead, because it has a share of its own.
    is_own: bool,
}

impl Member {
    fn stays(&self) -> bool {
        self.is_own || self.bulkheads.iter().any(Option::is_some)
    }
}

impl Members {
    pub(super) fn join(&mut self, line: LineId, shared: &Shared) {
        let Some(partition) = shared.partition() else { return };
        self.at(line.key).bulkheads[line.class as usize] = Some(Weak::clone(&shared.this));
        let number = partition.to_bits() as usize;
        if number >= self.lines.len() {
            self.lines.resize(number + 1, None);
        }
        self.lines[number] = Some(line);
    }

    /// Has a key stay without a bulkhead, or not.
    pub(super) fn own(&mut self, key: Key, is_own: bool) {
        self.at(key).is_own = is_own;
    }

    /// Returns the keys of bulkheads that have no share of their own, each once.
    pub(super) fn common(&self) -> impl Iterator<Item = Key> {
        let is_first = |line: &LineId| {
            let member = self.all.get(line.key.number()).filter(|member| !member.is_own);
            let first = member.and_then(|member| member.bulkheads.iter().position(Option::is_some));
            first == Some(line.class as usize)
        };
        self.lines.iter().flatten().filter(move |line| is_first(line)).map(|line| line.key)
    }

    pub(super) fn admitted(&self) -> usize {
        self.admitted.get()
    }

    /// Returns the line of the bulkhead, and whether its key stays.
    pub(super) fn leave(&mut self, shared: &Shared) -> Option<(LineId, bool)> {
        let line = self.line_of(shared)?;
        self.lines[shared.partition()?.to_bits() as usize] = None;
        let member = self.at(line.key);
        member.bulkheads[line.class as usize] = None;
        Some((line, member.stays()))
    }

    /// Returns whether a key that was known is still there. None was added meanwhile.
    pub(super) fn has(&self, key: Key) -> bool {
        self.all.get(key.number()).is_some_and(Member::stays)
    }

    fn at(&mut self, key: Key) -> &mut Member {
        let number = key.number();
        if number >= self.all.len() {
            self.all.resize_with(number + 1, Member::default);
        }
        &mut self.all[number]
    }

    /// Returns the line of a bulkhead, unless that has left.
    pub(super) fn line_of(&self, shared: &Shared) -> Option<LineId> {
        // Its partition may be another's by now.
        if !shared.has(hint::POOLED) {
            return None;
        }
        *self.lines.get(shared.partition()?.to_bits() as usize)?
    }

    pub(super) fn get(&self, line: LineId) -> Option<Arc<Shared>> {
        self.all.get(line.key.number())?.bulkheads[line.class as usize].as_ref()?.upgrade()
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
        let shared = self.members.get(line)?;
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

    fn admit(&mut self, line: LineId, cost: u32, now: Instant) -> (bool, Demand) {
        let admitted = self.with(line, |state| {
            let is_admitted = state.gate.admit_first(cost, now);
            state.note_use(now);
            (is_admitted, state.demand())
        });
        let (is_admitted, demand) = admitted.unwrap_or((false, Demand::NONE));
        self.members.admitted.set(self.members.admitted.get().wrapping_add(usize::from(is_admitted)));
        (is_admitted, demand)
    }

    fn largest_cost(&mut self, line: LineId) -> u32 {
        let largest = self.with(line, |state| state.gate.largest_waiting_cost()).unwrap_or(0);
        u32::try_from(largest).unwrap_or(u32::MAX)
    }

    fn displace(&mut self, line: LineId, now: Instant) -> Demand {
        let displaced = self.with(line, |state| {
            state.gate.displace_last(now);
            state.demand()
        });
        displaced.unwrap_or(Demand::NONE)
    }
}
