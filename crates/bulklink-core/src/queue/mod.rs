//! The tickets of a gate: who waits, in which order and until when, and what became of those not yet collected.

use alloc::collections::BTreeMap;
use core::num::{NonZeroU32, NonZeroU64};

use crate::{Instant, Rejection};

/// A place in the queue, or what became of it. Neither copied nor forged: it is given up by
/// [`collect`](crate::Gate::collect) or [`cancel`](crate::Gate::cancel).
///
/// A ticket means something only to the gate that issued it.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a forgotten ticket keeps its place, and the slot once that is handed to it"]
pub struct Ticket(NonZeroU64);

/// Names a place inside the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key(NonZeroU64);

/// A request that waits.
#[derive(Debug)]
pub(crate) struct Waiting<W> {
    pub(crate) cost: NonZeroU32,
    pub(crate) since: Instant,
    pub(crate) deadline: Option<Instant>,
    pub(crate) waker: Option<W>,
}

/// What became of a request that waited.
#[derive(Debug)]
pub(crate) enum Outcome {
    Granted { cost: NonZeroU32, waited_nanos: u64 },
    Rejected(Rejection),
}

/// What a ticket stands for when it is given up.
#[derive(Debug)]
pub(crate) enum Place<W> {
    Waiting(Waiting<W>),
    Settled(Outcome),
}

#[derive(Debug)]
pub(crate) struct Queue<W> {
    issued: u64,
    waiting: BTreeMap<NonZeroU64, Waiting<W>>,
    settled: BTreeMap<NonZeroU64, Outcome>,
    units: u64,
}

impl<W> Queue<W> {
    pub(crate) const fn new() -> Self {
        Queue { issued: 0, waiting: BTreeMap::new(), settled: BTreeMap::new(), units: 0 }
    }

    pub(crate) fn len(&self) -> u32 {
        self.waiting.len() as u32
    }

    pub(crate) fn units(&self) -> u64 {
        self.units
    }

    pub(crate) fn push(&mut self, waiting: Waiting<W>) -> Ticket {
        self.issued += 1;
        let id = NonZeroU64::new(self.issued).expect("counted from 1");
        self.units += u64::from(waiting.cost.get());
        self.waiting.insert(id, waiting);
        Ticket(id)
    }

    /// The first in line and its cost.
    pub(crate) fn head(&self) -> Option<(Key, NonZeroU32)> {
        self.waiting.first_key_value().map(|(&id, waiting)| (Key(id), waiting.cost))
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.earliest().map(|(deadline, _)| deadline)
    }

    /// The first whose deadline has come: the earliest deadline, and among equal ones the first in line.
    pub(crate) fn due(&self, now: Instant) -> Option<Key> {
        self.earliest().filter(|&(deadline, _)| deadline <= now).map(|(_, id)| Key(id))
    }

    fn earliest(&self) -> Option<(Instant, NonZeroU64)> {
        self.waiting.iter().filter_map(|(&id, waiting)| Some((waiting.deadline?, id))).min()
    }

    pub(crate) fn largest_cost(&self) -> Option<u32> {
        self.waiting.values().map(|waiting| waiting.cost.get()).max()
    }

    /// Takes a request out of the line. Its place is kept for the outcome, which must follow.
    pub(crate) fn leave(&mut self, key: Key) -> Waiting<W> {
        let waiting = self.waiting.remove(&key.0).expect("a key of this queue");
        self.units -= u64::from(waiting.cost.get());
        waiting
    }

    pub(crate) fn settle(&mut self, key: Key, outcome: Outcome) {
        self.settled.insert(key.0, outcome);
    }

    pub(crate) fn is_waiting(&self, ticket: &Ticket) -> bool {
        self.waiting.contains_key(&ticket.0)
    }

    pub(crate) fn get(&self, ticket: &Ticket) -> Option<&Waiting<W>> {
        self.waiting.get(&ticket.0)
    }

    pub(crate) fn get_mut(&mut self, ticket: &Ticket) -> Option<&mut Waiting<W>> {
        self.waiting.get_mut(&ticket.0)
    }

    /// Gives up the place of a ticket that has been settled.
    pub(crate) fn redeem(&mut self, ticket: Ticket) -> Outcome {
        self.settled.remove(&ticket.0).expect("a settled ticket of this queue")
    }

    /// Gives up the place of a ticket, settled or not.
    pub(crate) fn remove(&mut self, ticket: Ticket) -> Place<W> {
        if let Some(outcome) = self.settled.remove(&ticket.0) {
            return Place::Settled(outcome);
        }
        Place::Waiting(self.leave(Key(ticket.0)))
    }
}
