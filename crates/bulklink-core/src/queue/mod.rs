//! The tickets of a gate: who waits, in which order and until when, and what became of those not yet collected.

mod deadlines;
mod heap;
mod list;
mod node;
mod slab;
#[cfg(test)]
mod tests;

use core::mem;
use core::num::NonZeroU32;

use deadlines::Deadlines;
use list::{Chain, List};
use node::{Node, State};
use slab::{Place, Slab};

pub use node::Ticket;
pub(crate) use node::{Key, Outcome, Waiting};

use crate::Instant;

/// First come, first served. Everything here takes O(1), or O(log n) where a deadline ends before one that came earlier;
/// but for [`largest_cost`](Queue::largest_cost).
#[derive(Debug)]
pub(crate) struct Queue<W> {
    nodes: Slab<Node<W>>,
    line: List,
    deadlines: Deadlines,
    len: u32,
    units: u64,
    /// That of the latest arrival.
    stamp: NonZeroU32,
}

/// What a ticket stood for when it was given up.
#[derive(Debug)]
pub(crate) enum Removed<W> {
    Waiting(Waiting<W>),
    Settled(Outcome),
}

/// Where a ticket stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    First,
    Behind,
    Granted,
    Rejected,
}

impl<W> Queue<W> {
    pub(crate) const fn new() -> Self {
        Queue {
            nodes: Slab::new(),
            line: List::new(Chain::Line),
            deadlines: Deadlines::new(),
            len: 0,
            units: 0,
            stamp: NonZeroU32::MAX,
        }
    }

    /// How many wait.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// How many units they wait for.
    pub(crate) fn units(&self) -> u64 {
        self.units
    }

    pub(crate) fn push(&mut self, waiting: Waiting<W>) -> Ticket {
        self.stamp = self.stamp.checked_add(1).unwrap_or(NonZeroU32::MIN);
        self.len += 1;
        self.units += u64::from(waiting.cost.get());
        let place = self.nodes.insert(Node::new(self.stamp, waiting));
        self.line.push_back(&mut self.nodes, place);
        self.deadlines.add(&mut self.nodes, place);
        Ticket::new(Key { place, stamp: self.stamp })
    }

    /// The first in line and its cost.
    pub(crate) fn head(&self) -> Option<(Key, NonZeroU32)> {
        let place = self.line.first()?;
        Some((self.key(place), self.nodes[place].waiting()?.cost))
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first(&self.nodes).map(|place| self.nodes[place].deadline())
    }

    /// The first whose deadline has come: the earliest deadline, and among equal ones the first in line.
    pub(crate) fn due(&self, now: Instant) -> Option<Key> {
        let place = self.deadlines.first(&self.nodes)?;
        (self.nodes[place].deadline() <= now).then(|| self.key(place))
    }

    fn key(&self, place: Place) -> Key {
        Key { place, stamp: self.nodes[place].stamp }
    }

    /// The most units that anyone waits for. Looks at everyone, unless all wait for one.
    pub(crate) fn largest_cost(&self) -> Option<u32> {
        if self.units == u64::from(self.len) {
            return (self.len > 0).then_some(1);
        }
        let places = core::iter::successors(self.line.first(), |&place| self.line.next(&self.nodes, place));
        places.filter_map(|place| self.nodes[place].waiting()).map(|waiting| waiting.cost.get()).max()
    }

    /// Takes a request out of the line. Its place is kept for the outcome, which must follow.
    pub(crate) fn leave(&mut self, key: Key) -> Waiting<W> {
        let place = key.place;
        self.line.remove(&mut self.nodes, place);
        self.deadlines.remove(&mut self.nodes, place);
        let State::Waiting(waiting) = mem::replace(&mut self.nodes[place].state, State::Leaving) else {
            unreachable!("only those in line leave it");
        };
        self.len -= 1;
        self.units -= u64::from(waiting.cost.get());
        waiting
    }

    pub(crate) fn settle(&mut self, key: Key, outcome: Outcome) {
        self.nodes[key.place].state = State::Settled(outcome);
    }

    pub(crate) fn get(&self, ticket: &Ticket) -> Option<&Waiting<W>> {
        self.nodes[self.own(ticket).place].waiting()
    }

    pub(crate) fn get_mut(&mut self, ticket: &Ticket) -> Option<&mut Waiting<W>> {
        let key = self.own(ticket);
        match &mut self.nodes[key.place].state {
            State::Waiting(waiting) => Some(waiting),
            _ => None,
        }
    }

    pub(crate) fn standing(&self, ticket: &Ticket) -> Standing {
        let place = self.own(ticket).place;
        match &self.nodes[place].state {
            State::Settled(Outcome::Granted { .. }) => Standing::Granted,
            State::Settled(Outcome::Rejected(_)) | State::Leaving => Standing::Rejected,
            State::Waiting(_) if self.line.first() == Some(place) => Standing::First,
            State::Waiting(_) => Standing::Behind,
        }
    }

    /// Gives up the place of a ticket that still waits, or says what became of it.
    pub(crate) fn remove(&mut self, ticket: Ticket) -> Removed<W> {
        let key = self.own(&ticket);
        if self.nodes[key.place].waiting().is_some() {
            let waiting = self.leave(key);
            self.nodes.remove(key.place);
            return Removed::Waiting(waiting);
        }
        Removed::Settled(self.redeem(ticket))
    }

    /// Gives up the place of a ticket that has been settled.
    pub(crate) fn redeem(&mut self, ticket: Ticket) -> Outcome {
        let key = self.own(&ticket);
        match self.nodes.remove(key.place).state {
            State::Settled(outcome) => outcome,
            _ => unreachable!("looked at before"),
        }
    }

    fn own(&self, ticket: &Ticket) -> Key {
        let key = ticket.key();
        assert!(self.nodes[key.place].stamp == key.stamp, "a ticket of another gate");
        key
    }
}
