//! The deadlines of a queue: a list for those that arrive in order, a heap for the others.

use core::num::NonZeroU64;

use super::list::{Linked, Links, List};
use super::node::Stamp;
use super::slab::{Place, Slab};
use crate::Instant;
use crate::heap::{Heap, Ranked};

/// The deadlines of the waiting requests.
///
/// With one wait limit for all requests, deadlines arrive in the order in which they end, and the
/// list does everything in O(1).
#[derive(Clone, Debug)]
pub(super) struct Deadlines {
    entries: Slab<Due>,
    in_order: List,
    others: Heap<Due>,
}

/// The deadline of one request.
#[derive(Clone, Debug)]
pub(super) struct Due {
    pub(super) at: Instant,
    /// The driver on which the request relies to be expired in time, if that is recorded.
    home: Option<NonZeroU64>,
    pub(super) node: Place,
    pub(super) stamp: Stamp,
    pub(super) location: Location,
}

/// Where an entry is kept.
#[derive(Clone, Copy, Debug)]
pub(super) enum Location {
    Listed(Links),
    /// In the heap, at this position.
    Heaped(u32),
}

#[cfg(test)]
impl Due {
    fn position(&self) -> u32 {
        match self.location {
            Location::Heaped(position) => position,
            Location::Listed(_) => u32::MAX,
        }
    }
}

impl Deadlines {
    pub(super) const fn new() -> Self {
        Deadlines { entries: Slab::new(), in_order: List::new(), others: Heap::new() }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.in_order.first().is_none() && self.others.first().is_none()
    }

    /// Returns the earliest deadline, and among equal ones that of the earlier arrival.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(super) fn first(&self) -> Option<&Due> {
        let listed = self.in_order.first().map(|place| &self.entries[place]);
        match self.others.first().map(|place| &self.entries[place]) {
            Some(heaped) if listed.is_none_or(|listed| heaped.is_before(listed)) => Some(heaped),
            _ => listed,
        }
    }

    /// Adds the deadline of the request at `node`, and returns the place of its entry: in O(1) if
    /// no deadline in the list is later, and otherwise in O(log n). `expected` is as for
    /// [`Slab::insert`].
    pub(super) fn add(
        &mut self,
        at: Instant,
        home: Option<NonZeroU64>,
        node: Place,
        stamp: Stamp,
        expected: u32,
    ) -> Place {
        // A deadline earlier than the last one in the list would break its order, so it goes to the
        // heap.
        let is_last = self.in_order.last().is_none_or(|last| self.entries[last].at <= at);
        // The position in the heap is a placeholder, which `push` writes.
        let location = if is_last { Location::Listed(self.in_order.links_for_push()) } else { Location::Heaped(0) };
        let place = self.entries.insert(Due { at, home, node, stamp, location }, expected);
        if is_last {
            self.in_order.push_back(&mut self.entries, place);
        } else {
            self.others.push(&mut self.entries, place);
        }
        place
    }

    /// Removes an entry from the list or the heap, in O(1) or O(log n).
    pub(super) fn remove(&mut self, place: Place) {
        match self.entries.vacate(place, |due| due.location) {
            Location::Listed(links) => self.in_order.remove(&mut self.entries, links),
            Location::Heaped(position) => self.others.remove(&mut self.entries, position as usize),
        }
    }

    /// Returns the deadline of an entry.
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
        self.others.assert_sound(&self.entries, Due::position);
    }
}

impl Ranked<Due> for Due {
    /// Among equal deadlines, the earlier arrival comes first.
    #[cfg_attr(not(target_pointer_width = "64"), inline(never))]
    fn is_before(&self, other: &Due) -> bool {
        self.at < other.at || (self.at == other.at && self.stamp.is_before(other.stamp))
    }

    #[inline]
    fn set_position(&mut self, position: u32) {
        self.location = Location::Heaped(position);
    }
}

impl Linked for Due {
    fn links_mut(&mut self) -> &mut Links {
        match &mut self.location {
            Location::Listed(links) => links,
            Location::Heaped(_) => unreachable!("not in the list"),
        }
    }
}
