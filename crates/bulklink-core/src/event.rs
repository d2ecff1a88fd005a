//! What happened, in order, for those who observe.

use alloc::collections::VecDeque;
use core::time::Duration;

use crate::Figures;

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
    /// A request was withdrawn after a slot was handed to it and before it took it.
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
    /// How long the request had waited, where it had; zero for one that expired before the queue.
    ///
    /// For [`Cancelled`](EventKind::Cancelled), counted up to the latest instant that the gate was told.
    pub waited: Option<Duration>,
    /// Waiters let in by a resize, or turned away by a close.
    pub affected_waiters: usize,
    /// The capacity before, for [`Resized`](EventKind::Resized).
    pub previous_capacity: Option<usize>,
}

impl Event {
    pub(crate) fn new(kind: EventKind, figures: Figures) -> Self {
        Event {
            number: 0,
            kind,
            figures,
            is_closed: false,
            from_queue: false,
            cost: None,
            waited: None,
            affected_waiters: 0,
            previous_capacity: None,
        }
    }

    pub(crate) fn cost(mut self, cost: usize) -> Self {
        self.cost = Some(cost);
        self
    }

    pub(crate) fn queued(mut self) -> Self {
        self.from_queue = true;
        self
    }

    pub(crate) fn waited(mut self, nanos: u64) -> Self {
        self.waited = Some(Duration::from_nanos(nanos));
        self
    }

    pub(crate) fn affected(mut self, waiters: u32) -> Self {
        self.affected_waiters = waiters as usize;
        self
    }

    pub(crate) fn previous_capacity(mut self, units: usize) -> Self {
        self.previous_capacity = Some(units);
        self
    }
}

/// The events not yet pulled. Empty unless somebody observes.
#[derive(Debug, Default)]
pub(crate) struct EventLog {
    pub(crate) observed: bool,
    recorded: u64,
    pending: VecDeque<Event>,
}

impl EventLog {
    pub(crate) fn record(&mut self, event: Event) {
        self.recorded += 1;
        self.pending.push_back(Event { number: self.recorded, ..event });
    }

    pub(crate) fn pop(&mut self) -> Option<Event> {
        self.pending.pop_front()
    }

    pub(crate) fn len(&self) -> usize {
        self.pending.len()
    }

    /// The pending event at `position`, for a figure known only after what follows from it.
    pub(crate) fn get_mut(&mut self, position: usize) -> Option<&mut Event> {
        self.pending.get_mut(position)
    }
}
