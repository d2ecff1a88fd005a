//! What happened, in order, for those who observe.

use core::time::Duration;

use crate::Occupancy;
use crate::fifo::Fifo;

/// The kind of a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// A request was admitted, at once or from the queue.
    Admitted,
    /// A request joined the queue.
    Queued,
    /// A request was rejected for want of room.
    Saturated,
    /// A request ran out of time, in the queue or before it.
    Expired,
    /// A waiting request was withdrawn.
    Cancelled,
    /// A request was withdrawn after a slot was handed to it and before it began.
    Abandoned,
    /// An operation ended and gave its slot back.
    Released,
    /// The gate was closed.
    Closed,
    /// A request was rejected because the gate is closed, in the queue or before it.
    ClosedRejection,
    /// The gate is closed and the last operation has ended.
    Drained,
    /// The capacity was changed.
    Resized,
}

/// One transition, with the figures right after it. Metadata only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// Counts the events of this gate from 1, without gaps while it is observed.
    pub number: u64,
    /// What happened.
    pub kind: EventKind,
    /// The occupancy right after it.
    pub occupancy: Occupancy,
    /// Whether the gate was closed by then.
    pub is_closed: bool,
    /// The cost of the request or operation; for a resize, the capacity before.
    pub(crate) units: usize,
    /// How long a request that was in the queue had waited.
    pub(crate) waited_nanos: Option<u64>,
    /// Waiters let in by a resize.
    pub(crate) admitted: u32,
}

impl Event {
    /// Whether it concerns a request that was in the queue.
    #[must_use]
    pub fn from_queue(&self) -> bool {
        self.waited_nanos.is_some() || self.kind == EventKind::Queued
    }

    /// The cost of the request or operation, where it concerns one.
    #[must_use]
    pub fn cost(&self) -> Option<usize> {
        let has_cost = !matches!(self.kind, EventKind::Closed | EventKind::Drained | EventKind::Resized);
        has_cost.then_some(self.units)
    }

    /// How long the request had waited, where it had; zero for one that expired before the queue.
    ///
    /// For [`Cancelled`](EventKind::Cancelled), counted up to the instant that the gate was told last.
    #[must_use]
    pub fn waited(&self) -> Option<Duration> {
        let before_queue = (self.kind == EventKind::Expired).then_some(0);
        self.waited_nanos.or(before_queue).map(Duration::from_nanos)
    }

    /// Waiters let in by a resize, or rejected by a close.
    #[must_use]
    pub fn affected_waiters(&self) -> usize {
        (if self.kind == EventKind::Closed { self.occupancy.waiting } else { self.admitted }) as usize
    }

    /// The capacity before, for [`Resized`](EventKind::Resized).
    #[must_use]
    pub fn previous_capacity(&self) -> Option<usize> {
        (self.kind == EventKind::Resized).then_some(self.units)
    }
}

/// The events not yet pulled. None is recorded unless the gate is observed.
#[derive(Debug)]
pub(crate) struct EventLog {
    pub(crate) observed: bool,
    pub(crate) recorded: u64,
    pub(crate) pending: Fifo<Event>,
}

impl EventLog {
    pub(crate) const fn new() -> Self {
        EventLog { observed: false, recorded: 0, pending: Fifo::new() }
    }
}
