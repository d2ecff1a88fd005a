//! Resizing, pausing, closing, and watching for the gate to drain.

use core::fmt;

use super::Gate;
use crate::{EventKind, Instant, InvalidArgument, Limits, Reason, Ticket};

/// The result of a resize.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resized {
    /// The capacity before.
    pub previous: usize,
    /// The number of waiters that the resize admitted.
    pub admitted: usize,
}

/// A registration to be woken when the gate has closed and drained. It can be neither copied nor
/// forged.
#[derive(Debug)]
#[must_use = "a forgotten watch keeps its waker until the gate has drained"]
pub struct Watch(Ticket);

/// Why a change of limits failed. All limits are unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResizeError {
    /// The gate is closed.
    Closed,
    /// The capacity, or another limit, is out of range, or the capacity is less than a waiter asks
    /// for.
    Invalid(InvalidArgument),
}

impl<W> Gate<W> {
    /// Changes the capacity at `now`, after expiring waiters that are due and handing out free
    /// units.
    ///
    /// Growing admits waiters in order. Shrinking cancels nothing: while more is in use than the
    /// new capacity, no request is admitted. Setting the same capacity again changes nothing.
    ///
    /// # Errors
    ///
    /// If the gate is closed, if the capacity is out of range, or if a waiter asks for more units
    /// than the new capacity.
    pub fn resize(&mut self, capacity: usize, now: Instant) -> Result<Resized, ResizeError> {
        let previous = self.capacity as usize;
        let admitted = self.reconfigure(&Limits { capacity, ..self.limits() }, now)?;
        Ok(Resized { previous, admitted })
    }

    /// Changes all limits at `now`, after expiring waiters that are due and handing out free units.
    ///
    /// The capacity changes as in [`resize`](Gate::resize). A smaller waiting room, in requests or
    /// in units, rejects no request that waits: it admits none to the queue until there is room. A
    /// new wait limit holds for later requests only. To change one limit, pass those in force with
    /// that one changed. Passing the limits in force changes nothing. Returns the number of waiters
    /// that the change admits.
    ///
    /// # Errors
    ///
    /// If the gate is closed, if a limit is out of range, or if a waiter asks for more units than
    /// the new capacity. The error has the first reason; [`Limits::invalid`] returns all.
    #[cold]
    pub fn reconfigure(&mut self, limits: &Limits, now: Instant) -> Result<usize, ResizeError> {
        if self.closed {
            return Err(ResizeError::Closed);
        }
        // A waiter that expires or is admitted now must not block the change by its cost.
        self.advance_to(now);
        limits.check(self.queue.largest_cost())?;
        let (capacity, waiting_room) = (self.capacity, self.waiting_room);
        let after = limits.narrow();
        let is_same_room = waiting_room == after.waiting_room && self.waiting_room_units == after.waiting_room_units;
        if !is_same_room || self.wait_limit != after.wait_limit {
            self.waiting_room = after.waiting_room;
            self.waiting_room_units = after.waiting_room_units;
            self.wait_limit = after.wait_limit;
            self.note_control(EventKind::Reconfigured, waiting_room as usize);
        }
        self.capacity = after.capacity;
        self.bind();
        if after.capacity == capacity {
            return Ok(0);
        }
        Ok(self.admit_after(EventKind::Resized, capacity as usize) as usize)
    }

    /// Returns the largest cost among the requests that wait; zero if none does. No capacity below
    /// it can be set. Takes O(n) if not all of them cost one unit.
    #[must_use]
    pub fn largest_waiting_cost(&self) -> usize {
        self.queue.largest_cost() as usize
    }

    /// Records an event that can admit waiters, and admits them. Returns their number.
    fn admit_after(&mut self, kind: EventKind, units: usize) -> u32 {
        // The event precedes those of the waiters it admits, but carries their number: it is
        // recorded first and completed below.
        let is_noted = self.observed.includes(kind, false);
        let place = self.events.pending.incoming().len();
        self.note_control(kind, units);
        let waited = self.queue.len();
        self.advance_to(self.mark);
        let admitted = waited - self.queue.len();
        // Where the change is only watched, the place is another event's.
        if let Some(note) = self.events.pending.incoming().get_mut(place).filter(|note| is_noted && note.kind == kind) {
            note.admitted = admitted;
        }
        admitted
    }

    #[inline(never)]
    fn note_control(&mut self, kind: EventKind, units: usize) {
        self.note(kind, units);
    }

    /// Pauses the gate: from now on, no request is admitted. Returns whether this changed anything:
    /// not if the gate was paused already, or is closed.
    ///
    /// Running operations go on. Waiters keep their places and their deadlines, and expire at
    /// these. Requests that may not wait, or find the waiting room full, are rejected as
    /// [`Saturated`](Reason::Saturated).
    #[cold]
    pub fn pause(&mut self) -> bool {
        let changes = !self.closed && !self.is_paused();
        if changes {
            self.paused = true;
            self.bind();
            self.note_control(EventKind::Paused, 0);
        }
        changes
    }

    /// Ends a pause at `now`: waiters that are due expire, and free units go to the others in
    /// order. Returns whether the gate was paused.
    #[cold]
    pub fn resume(&mut self, now: Instant) -> bool {
        let changes = self.is_paused();
        if changes {
            self.advance_to(now);
            self.paused = false;
            self.bind();
            self.admit_after(EventKind::Resumed, 0);
        }
        changes
    }

    /// Returns whether the gate is [paused](Gate::pause). A closed gate is not.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// Closes the gate at `now`: rejects all waiters and all later requests. Running operations go
    /// on. Returns whether the gate was open until then.
    ///
    /// Waiters that are due expire first and are not rejected as closed, and free units are handed
    /// to the head of the queue first, unless the gate is paused. After that no slot is ever
    /// granted. Closing ends a pause, and lifts a [restriction](Gate::restrict).
    pub fn close(&mut self, now: Instant) -> bool {
        if self.closed {
            return false;
        }
        self.advance_to(now);
        self.closed = true;
        self.paused = false;
        self.lift();
        self.bind();
        self.note_control(EventKind::Closed, 0);
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

    /// Returns whether the gate is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Returns whether the gate is closed and the last operation has ended.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.closed && self.in_flight == 0
    }

    /// Stores `waker`, which [`poll_wake`](Gate::poll_wake) returns when the gate has
    /// [drained](Gate::is_drained).
    ///
    /// Must be called only while the gate has not drained.
    pub fn watch(&mut self, waker: W) -> Watch {
        Watch(self.queue.watch(waker))
    }

    /// Returns the place for the waker of a watch, if the gate has not drained. A displaced waker
    /// must be dropped outside the caller's lock.
    #[must_use]
    pub fn watch_mut(&mut self, watch: &Watch) -> Option<&mut Option<W>> {
        self.waker_mut(&watch.0)
    }

    /// Ends a watch, in O(1). Returns its waker if the gate has not drained; it must be dropped
    /// outside the caller's lock.
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
