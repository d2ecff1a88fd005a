//! Changing the capacity, closing, and waiting for the end.

use core::fmt;

use super::Gate;
use crate::invalid::Found;
use crate::limits::check_capacity;
use crate::{EventKind, Instant, InvalidArgument, Reason, Ticket};

/// What a resize did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resized {
    /// The capacity before.
    pub previous: usize,
    /// Waiters let in.
    pub admitted: usize,
}

/// A place among the calls that are told when the gate has closed and drained. Neither copied nor forged.
#[derive(Debug)]
#[must_use = "a forgotten watch keeps its waker until the gate has drained"]
pub struct Watch(Ticket);

/// Why a resize was refused. The capacity is what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResizeError {
    /// The gate is closed.
    Closed,
    /// The capacity is out of range, or less than somebody in the queue asks for.
    Invalid(InvalidArgument),
}

impl<W> Gate<W> {
    /// Changes the capacity at `now`, after expiring the late and handing out what was free.
    ///
    /// Growing admits waiters in order. Shrinking cancels nothing: while more is in use than the new capacity allows, nobody is
    /// admitted. The same capacity again changes nothing.
    ///
    /// # Errors
    ///
    /// If the gate is closed, if the capacity is out of range, or if somebody waits for more units than it would have.
    pub fn resize(&mut self, capacity: usize, now: Instant) -> Result<Resized, ResizeError> {
        if self.closed {
            return Err(ResizeError::Closed);
        }
        let units = check_capacity(capacity)?;
        self.advance_to(now);
        self.check_queued_costs(units)?;
        Ok(self.set_capacity(units))
    }

    fn check_queued_costs(&self, capacity: u32) -> Result<(), InvalidArgument> {
        match self.queue.largest_cost() {
            Some(cost) if cost > capacity => Err(Found::CapacityBelowWaiter { capacity, cost }.into()),
            _ => Ok(()),
        }
    }

    fn set_capacity(&mut self, units: u32) -> Resized {
        let previous = core::mem::replace(&mut self.capacity, units) as usize;
        if previous == units as usize {
            return Resized { previous, admitted: 0 };
        }
        let place = self.events.pending.incoming().len();
        self.note(EventKind::Resized, previous);
        let waited = self.queue.len();
        self.advance_to(self.mark);
        let admitted = waited - self.queue.len();
        if let Some(note) = self.events.pending.incoming().get_mut(place) {
            note.admitted = admitted;
        }
        Resized { previous, admitted: admitted as usize }
    }

    /// Closes the gate at `now`: everyone who waits and everyone who comes is rejected; what runs goes on. Returns whether it
    /// was open until then. From then on nothing is ever granted.
    ///
    /// The late are expired first, not closed; and a slot that was free for the head of the queue is handed to it.
    pub fn close(&mut self, now: Instant) -> bool {
        if self.closed {
            return false;
        }
        self.advance_to(now);
        self.closed = true;
        self.note(EventKind::Closed, 0);
        self.reject_all();
        self.note_drained();
        true
    }

    fn reject_all(&mut self) {
        while let Some((place, _)) = self.queue.first() {
            self.totals.closed_while_waiting += 1;
            self.reject_waiter(place, Reason::Closed, EventKind::ClosedRejection);
        }
    }

    /// Whether the gate is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether the gate is closed and the last operation has ended.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.closed && self.in_flight == 0
    }

    /// Leaves `waker` to be given out by [`poll_wake`](Gate::poll_wake) when the gate has [drained](Gate::is_drained). To be
    /// called only while it has not.
    pub fn watch(&mut self, waker: W) -> Watch {
        Watch(self.queue.watch(waker))
    }

    /// Replaces the waker of a watch. Returns what it displaced, to be dropped outside the caller's lock; if the gate has
    /// drained, that is `waker` itself.
    pub fn rewatch(&mut self, watch: &Watch, waker: W) -> Option<W> {
        self.park(&watch.0, waker)
    }

    /// The waker of a watch that is not over.
    #[must_use]
    pub fn watched(&self, watch: &Watch) -> Option<&W> {
        self.parked(&watch.0)
    }

    /// Gives a watch up, in O(1). Returns its waker, if it was not over, to be dropped outside the caller's lock.
    pub fn unwatch(&mut self, watch: Watch) -> Option<W> {
        self.queue.unwatch(watch.0)
    }
}

impl From<InvalidArgument> for ResizeError {
    fn from(invalid: InvalidArgument) -> Self {
        ResizeError::Invalid(invalid)
    }
}

impl fmt::Display for ResizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResizeError::Closed => f.write_str("closed, and cannot be resized"),
            ResizeError::Invalid(invalid) => invalid.fmt(f),
        }
    }
}

impl core::error::Error for ResizeError {}
