//! One ticket's node: its links, and what is known of it.

use core::num::{NonZeroU32, NonZeroU64};

use super::slab::Place;
use crate::{Instant, Rejection};

/// A place in the queue, or what became of it. Neither copied nor forged: it is given up by
/// [`collect`](crate::Gate::collect) or [`cancel`](crate::Gate::cancel).
///
/// A ticket means something only to the gate that issued it.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a forgotten ticket keeps its place, and the slot once that is handed to it"]
pub struct Ticket(NonZeroU64);

impl Ticket {
    pub(super) fn new(key: Key) -> Self {
        Ticket(NonZeroU64::from(key.place.number()) | u64::from(key.stamp.get()) << 32)
    }

    pub(super) fn key(&self) -> Key {
        let [_, _, _, _, place @ ..] = self.0.get().to_be_bytes();
        let [stamp @ .., _, _, _, _] = self.0.get().to_be_bytes();
        let place = Place::from_number(u32::from_be_bytes(place)).expect("never zero");
        Key { place, stamp: NonZeroU32::new(u32::from_be_bytes(stamp)).expect("never zero") }
    }
}

/// Names a node. The stamp counts arrivals, so it tells a node from earlier ones in the same place, and who came first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(super) place: Place,
    pub(super) stamp: NonZeroU32,
}

/// A request that waits.
#[derive(Debug)]
pub(crate) struct Waiting<W> {
    pub(crate) cost: NonZeroU32,
    pub(crate) since: Instant,
    /// The far future stands for none.
    pub(crate) deadline: Instant,
    pub(crate) waker: Option<W>,
}

/// What became of a request that waited.
#[derive(Debug)]
pub(crate) enum Outcome {
    Granted { cost: NonZeroU32, waited_nanos: u64 },
    Rejected(Rejection),
}

#[derive(Debug)]
pub(crate) enum State<W> {
    Waiting(Waiting<W>),
    /// Out of the line, and the outcome about to follow.
    Leaving,
    Settled(Outcome),
}

/// The neighbours in one list.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Links {
    pub(super) previous: Option<Place>,
    pub(super) next: Option<Place>,
}

#[derive(Debug)]
pub(super) struct Node<W> {
    pub(super) stamp: NonZeroU32,
    /// One for each [`Chain`](super::list::Chain).
    pub(super) links: [Links; 2],
    /// Where the heap of deadlines has it, if it has.
    pub(super) heap_position: Option<u32>,
    pub(super) state: State<W>,
}

impl<W> Node<W> {
    pub(super) fn new(stamp: NonZeroU32, waiting: Waiting<W>) -> Self {
        Node { stamp, links: [Links::default(); 2], heap_position: None, state: State::Waiting(waiting) }
    }

    pub(super) fn waiting(&self) -> Option<&Waiting<W>> {
        match &self.state {
            State::Waiting(waiting) => Some(waiting),
            _ => None,
        }
    }

    /// The far future for one that waits without a deadline or does not wait.
    pub(super) fn deadline(&self) -> Instant {
        self.waiting().map_or(Instant::FAR_FUTURE, |waiting| waiting.deadline)
    }

    /// Whether it joined the queue before the other. Stamps wrap, so this holds for up to 2³¹ arrivals between the two.
    pub(super) fn came_before(&self, other: &Node<W>) -> bool {
        self.stamp.get().wrapping_sub(other.stamp.get()) > u32::MAX / 2
    }
}
