//! The node of one ticket: a waiting request, or its outcome.

use core::num::NonZeroU32;

use super::list::{Linked, Links};
use super::slab::Place;
use crate::fork::Fork;
use crate::{Instant, Rejection};

/// A place in the queue, or the outcome that was left there.
///
/// It can be neither copied nor forged; [`collect`](crate::Gate::collect) or
/// [`cancel`](crate::Gate::cancel) gives it up. It is valid only for the gate that issued it.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a forgotten ticket keeps its place, and the slot that is handed to it"]
pub struct Ticket {
    pub(super) place: Place,
    /// Distinguishes the ticket from earlier and later ones at the same place.
    pub(super) stamp: Stamp,
}

impl Fork for Ticket {
    fn fork(&self) -> Self {
        Ticket { ..*self }
    }
}

impl Ticket {
    /// Returns a small number that no other live ticket of its gate has.
    pub(crate) fn number(&self) -> usize {
        self.place.number().get() as usize
    }
}

/// The number of an arrival. It wraps, and is never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp(pub(super) NonZeroU32);

impl Stamp {
    #[inline]
    pub(super) fn next(self) -> Self {
        Stamp(self.0.checked_add(1).unwrap_or(NonZeroU32::MIN))
    }

    /// Returns whether this stamp is the earlier one, provided that no more than 2³¹ arrivals lie
    /// between the two.
    pub(super) fn is_before(self, other: Stamp) -> bool {
        // The distance is taken modulo 2³², so the order holds across the wrap.
        self.0.get().wrapping_sub(other.0.get()) > u32::MAX / 2
    }
}

/// A waiting request.
#[derive(Clone, Debug)]
pub(crate) struct Waiting<W> {
    pub(crate) cost: NonZeroU32,
    pub(crate) since: Instant,
    pub(crate) waker: Option<W>,
    pub(super) links: Links,
    /// Its entry among the deadlines, if it has a deadline.
    pub(super) due: Option<Place>,
}

/// The node of a ticket.
///
/// It takes 48 bytes with a waker of two words, as a queue may hold a million nodes. The stamp is
/// repeated in each variant, because it fills a gap there.
#[derive(Clone, Debug)]
pub(super) enum Node<W> {
    Waiting(Stamp, Waiting<W>),
    Granted(Stamp, Granted),
    Rejected(Stamp, Rejection),
}

/// The outcome of a request that was admitted from the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Granted {
    pub(crate) cost: NonZeroU32,
    pub(crate) waited_nanos: u64,
    /// When the slot was handed over; the far future if the wait was not measured.
    pub(crate) at: Instant,
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
    fn links_mut(&mut self) -> &mut Links {
        &mut self.waiting_mut().expect(ONLY_WAITERS_ARE_LINKED).links
    }
}

pub(super) const ONLY_WAITERS_ARE_LINKED: &str = "only waiters are linked";

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    #[test]
    fn a_node_is_48_bytes_and_a_ticket_8() {
        assert_eq!(size_of::<super::Node<&'static str>>(), 48);
        assert_eq!(size_of::<Option<super::Ticket>>(), 8);
    }
}
