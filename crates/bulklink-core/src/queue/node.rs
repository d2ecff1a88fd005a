//! One ticket's node: a request that waits, or what became of it.

use core::num::NonZeroU32;

use super::list::{Linked, Links};
use super::slab::Place;
use crate::{Instant, Rejection};

/// A place in the queue, or what became of it. Neither copied nor forged: it is given up by
/// [`collect`](crate::Gate::collect) or [`cancel`](crate::Gate::cancel).
///
/// A ticket means something only to the gate that issued it.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a forgotten ticket keeps its place, and the slot once that is handed to it"]
pub struct Ticket {
    pub(super) place: Place,
    /// Tells it from an earlier or a later one at the same place.
    pub(super) stamp: Stamp,
}

impl Ticket {
    pub(super) fn new(place: Place, stamp: Stamp) -> Self {
        Ticket { place, stamp }
    }

    #[inline]
    pub(super) fn place(&self) -> Place {
        self.place
    }

    /// Whether it is the ticket of this arrival.
    #[inline]
    pub(super) fn is_of(&self, stamp: Stamp) -> bool {
        self.stamp == stamp
    }
}

/// Counts arrivals, and wraps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp(pub(super) NonZeroU32);

impl Stamp {
    #[inline]
    pub(super) fn next(self) -> Self {
        Stamp(self.0.checked_add(1).unwrap_or(NonZeroU32::MIN))
    }

    /// Whether this one came first, if no more than 2³¹ came between the two.
    pub(super) fn is_before(self, other: Stamp) -> bool {
        self.0.get().wrapping_sub(other.0.get()) > u32::MAX / 2
    }
}

/// A request that waits.
#[derive(Debug)]
pub(crate) struct Waiting<W> {
    pub(crate) cost: NonZeroU32,
    pub(crate) since: Instant,
    pub(crate) waker: Option<W>,
    pub(super) links: Links,
    /// Its entry among the deadlines, if it has one.
    pub(super) due: Option<Place>,
}

/// 48 bytes with a waker of two words: a queue may hold a million. The stamp is in each case, as it fills a gap there.
#[derive(Debug)]
pub(super) enum Node<W> {
    Waiting(Stamp, Waiting<W>),
    Granted(Stamp, Granted),
    Rejected(Stamp, Rejection),
}

/// What became of one that was let in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Granted {
    pub(crate) cost: NonZeroU32,
    pub(crate) waited_nanos: u64,
}

impl<W> Node<W> {
    #[inline]
    pub(super) fn stamp(&self) -> Stamp {
        match self {
            Node::Waiting(stamp, _) | Node::Granted(stamp, _) | Node::Rejected(stamp, _) => *stamp,
        }
    }

    #[inline]
    pub(super) fn waiting(&self) -> Option<&Waiting<W>> {
        match self {
            Node::Waiting(_, waiting) => Some(waiting),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn waiting_mut(&mut self) -> Option<&mut Waiting<W>> {
        match self {
            Node::Waiting(_, waiting) => Some(waiting),
            _ => None,
        }
    }
}

impl<W> Linked for Node<W> {
    #[inline]
    fn links(&self) -> Links {
        self.waiting().expect(IN_LINE).links
    }

    #[inline]
    fn links_mut(&mut self) -> &mut Links {
        &mut self.waiting_mut().expect(IN_LINE).links
    }
}

const IN_LINE: &str = "only those who wait are in line";

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    #[test]
    fn a_node_is_48_bytes_and_a_ticket_8() {
        assert_eq!(size_of::<super::Node<&'static str>>(), 48);
        assert_eq!(size_of::<Option<super::Ticket>>(), 8);
    }
}
