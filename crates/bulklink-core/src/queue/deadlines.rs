//! Who is late first: a list for deadlines that come in order, a heap for the others.

use core::num::NonZeroU64;

use super::heap::Heap;
use super::list::{Linked, Links, List};
use super::node::Stamp;
use super::slab::{Place, Slab};
use crate::Instant;

/// With one limit for all, deadlines come in the order in which they end, and the list does it all in O(1).
#[derive(Debug)]
pub(super) struct Deadlines {
    entries: Slab<Due>,
    in_order: List,
    others: Heap,
}

/// When somebody is late.
#[derive(Debug)]
pub(super) struct Due {
    pub(super) at: Instant,
    /// What the request relies on to be expired in time, if that is noted.
    home: Option<NonZeroU64>,
    pub(super) node: Place,
    pub(super) stamp: Stamp,
    pub(super) standing: Standing,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Standing {
    Listed(Links),
    /// At this position.
    Heaped(u32),
}

impl Due {
    /// Whether this one comes first; of equal deadlines, that of whoever came first.
    pub(super) fn is_before(&self, other: &Due) -> bool {
        self.at < other.at || (self.at == other.at && self.stamp.is_before(other.stamp))
    }
}

impl Deadlines {
    pub(super) const fn new(expected: u32) -> Self {
        Deadlines { entries: Slab::new(expected), in_order: List::new(), others: Heap::new() }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.in_order.first().is_none() && self.others.first().is_none()
    }

    /// The one that comes first; of equal deadlines, that of whoever came first.
    pub(super) fn first(&self) -> Option<&Due> {
        let listed = self.in_order.first().map(|place| &self.entries[place]);
        match self.others.first().map(|place| &self.entries[place]) {
            Some(heaped) if listed.is_none_or(|listed| heaped.is_before(listed)) => Some(heaped),
            _ => listed,
        }
    }

    pub(super) fn add(&mut self, at: Instant, node: Place, stamp: Stamp) -> Place {
        let is_last = self.in_order.last().is_none_or(|last| self.entries[last].at <= at);
        let standing = if is_last { Standing::Listed(self.in_order.links_of_last()) } else { Standing::Heaped(0) };
        let place = self.entries.insert(Due { at, home: None, node, stamp, standing });
        if is_last {
            self.in_order.push_back(&mut self.entries, place);
        } else {
            self.others.push(&mut self.entries, place);
        }
        place
    }

    pub(super) fn remove(&mut self, place: Place) {
        match self.entries.vacate(place, |due| due.standing) {
            Standing::Listed(links) => self.in_order.remove(&mut self.entries, links),
            Standing::Heaped(position) => self.others.remove(&mut self.entries, position as usize),
        }
    }

    /// That of one who has an entry.
    pub(super) fn at(&self, place: Place) -> Instant {
        self.entries[place].at
    }

    #[inline]
    pub(super) fn home(&self, place: Place) -> Option<NonZeroU64> {
        self.entries[place].home
    }

    #[inline]
    pub(super) fn home_mut(&mut self, place: Place) -> &mut Option<NonZeroU64> {
        &mut self.entries[place].home
    }

    #[cfg(test)]
    pub(super) fn assert_sound(&self) {
        self.others.assert_sound(&self.entries);
    }
}

impl Linked for Due {
    fn links(&self) -> Links {
        match self.standing {
            Standing::Listed(links) => links,
            Standing::Heaped(_) => unreachable!("not in the list"),
        }
    }

    fn links_mut(&mut self) -> &mut Links {
        match &mut self.standing {
            Standing::Listed(links) => links,
            Standing::Heaped(_) => unreachable!("not in the list"),
        }
    }
}
