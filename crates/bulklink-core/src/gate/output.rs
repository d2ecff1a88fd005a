//! What is pulled out of the gate: wakers, events, snapshots.

use core::num::NonZeroU64;

use super::Gate;
use crate::{Event, Limits, Snapshot, Totals};

impl<W> Gate<W> {
    /// The next waker to be woken, in the order in which tickets were settled; `None` when there is no more.
    ///
    /// Everyone who calls an input owes calls of this until it gives nothing. To be woken outside the caller's lock.
    #[inline]
    pub fn poll_wake(&mut self) -> Option<W> {
        if self.wakes.is_empty() { None } else { self.wakes.pop() }
    }

    /// Wakes every ticket that [relies](Gate::rely) on `home`, though nothing was decided, as `home` is gone:
    /// the tickets rely on nothing from now on, and their wakers are to be [parked](Gate::park) anew.
    pub fn rouse(&mut self, home: NonZeroU64) {
        self.queue.rouse(home, |waker| self.wakes.push(waker));
    }

    /// The next event, in the order in which things happened; `None` when there is no more.
    ///
    /// While the gate is observed, everyone who calls an input owes calls of this until it gives nothing.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pending.pop()
    }

    /// Whether a call of [`poll_wake`](Gate::poll_wake) would give something.
    #[must_use]
    #[inline]
    pub fn has_wakes(&self) -> bool {
        !self.wakes.is_empty()
    }

    /// Whether a call of [`poll_wake`](Gate::poll_wake) or [`poll_event`](Gate::poll_event) would give something.
    #[must_use]
    #[inline]
    pub fn has_output(&self) -> bool {
        !self.wakes.is_empty() || !self.events.pending.is_empty()
    }

    /// Begins or ends recording events. They cost nothing while nobody observes. What was recorded stays to be pulled.
    pub fn observe(&mut self, observed: bool) {
        self.events.observed = observed;
    }

    /// Whether events are recorded.
    #[must_use]
    pub fn is_observed(&self) -> bool {
        self.events.observed
    }

    /// The limits in force.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits {
            capacity: self.capacity as usize,
            waiting_room: self.waiting_room as usize,
            wait_limit: self.wait_limit,
        }
    }

    /// All figures at this moment. It is the next in the gate's series of snapshots, hence `&mut`.
    pub fn snapshot(&mut self) -> Snapshot {
        self.snapshots += 1;
        Snapshot {
            instance: self.instance,
            number: self.snapshots,
            limits: self.limits(),
            in_flight: self.in_flight as usize,
            in_use: self.in_use as usize,
            waiting: self.queue.len() as usize,
            waiting_units: self.queue.units(),
            peak_in_flight: self.peaks.in_flight as usize,
            peak_in_use: self.peaks.in_use as usize,
            peak_waiting: self.peaks.waiting as usize,
            peak_waiting_units: self.peaks.waiting_units,
            longest_wait_nanos: self.peaks.wait_nanos,
            is_closed: self.closed,
            totals: self.totals(),
        }
    }

    /// Whoever was admitted has finished, unless it was abandoned or still runs.
    fn totals(&self) -> Totals {
        let mut totals = self.totals;
        totals.finished = totals.admitted.wrapping_sub(totals.abandoned).wrapping_sub(self.in_flight.into());
        totals.finished_units =
            totals.admitted_units.wrapping_sub(totals.abandoned_units).wrapping_sub(self.in_use.into());
        totals
    }
}
