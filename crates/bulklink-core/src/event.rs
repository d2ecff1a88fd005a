//! What happened, in order, for those who observe.

use core::time::Duration;

use crate::Figures;
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
    pub figures: Figures,
    /// Whether the gate was closed by then.
    pub is_closed: bool,
    /// Whether it concerns a request that was in the queue.
    pub from_queue: bool,
    /// The cost of the request or operation, where it concerns one.
    pub cost: Option<usize>,
    /// [`waited`](Event::waited) in nanoseconds.
    pub waited_nanos: Option<u64>,
    /// Waiters let in by a resize, or turned away by a close.
    pub affected_waiters: usize,
    /// The capacity before, for [`Resized`](EventKind::Resized).
    pub previous_capacity: Option<usize>,
}

impl Event {
    /// How long the request had waited, where it had; zero for one that expired before the queue.
    ///
    /// For [`Cancelled`](EventKind::Cancelled), counted up to the latest instant that the gate was told.
    #[must_use]
    pub fn waited(&self) -> Option<Duration> {
        self.waited_nanos.map(Duration::from_nanos)
    }
}

/// An event as it is recorded: what cannot be told from the rest, to be made an [`Event`] when it is pulled.
#[derive(Debug)]
pub(crate) struct Note {
    pub(crate) kind: EventKind,
    pub(crate) is_closed: bool,
    pub(crate) figures: Figures,
    /// The cost of the request or operation; for a resize, the capacity before.
    pub(crate) units: usize,
    /// How long a request that was in the queue had waited.
    pub(crate) waited_nanos: Option<u64>,
    /// Waiters let in by a resize.
    pub(crate) admitted: u32,
}

impl Note {
    #[inline]
    fn event(&self, number: u64) -> Event {
        let Note { kind, is_closed, figures, units, waited_nanos, admitted } = *self;
        let has_cost = !matches!(kind, EventKind::Closed | EventKind::Drained | EventKind::Resized);
        Event {
            number,
            kind,
            figures,
            is_closed,
            from_queue: waited_nanos.is_some() || kind == EventKind::Queued,
            cost: has_cost.then_some(units),
            waited_nanos: waited_nanos.or((kind == EventKind::Expired).then_some(0)),
            affected_waiters: if kind == EventKind::Closed { figures.waiting } else { admitted } as usize,
            previous_capacity: (kind == EventKind::Resized).then_some(units),
        }
    }
}

/// The events not yet pulled. Empty unless somebody observes.
#[derive(Debug)]
pub(crate) struct EventLog {
    pub(crate) observed: bool,
    pulled: u64,
    pub(crate) pending: Fifo<Note>,
}

impl EventLog {
    pub(crate) const fn new() -> Self {
        EventLog { observed: false, pulled: 0, pending: Fifo::new() }
    }

    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        let note = self.pending.pop()?;
        self.pulled += 1;
        Some(note.event(self.pulled))
    }
}
