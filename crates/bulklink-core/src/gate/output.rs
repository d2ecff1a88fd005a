//! The outputs of the gate: wakers, events, snapshots.

use core::mem;
use core::num::NonZeroU64;

use super::Gate;
use crate::busy::Busy;
use crate::fifo::{Fifo, Wakes};
#[cfg(feature = "histogram")]
use crate::histogram::{Histogram, SharedCounts};
use crate::limits::Checked;
use crate::totals::Sum;
use crate::{Event, EventFilter, Instant, Limits, Rejection, Snapshot, Ticket, Totals};

impl<W> Gate<W> {
    /// Returns the next waker to wake, in the order in which tickets were settled, or `None` when
    /// no more is pending.
    ///
    /// Every caller of an input must call this until it returns `None`, and wake outside its lock.
    #[inline]
    pub fn poll_wake(&mut self) -> Option<W> {
        self.wakes.pop()
    }

    /// Takes all wakers at once, in the order of [`poll_wake`](Gate::poll_wake).
    pub(crate) fn take_wakes(&mut self) -> Wakes<W> {
        Wakes(mem::replace(&mut self.wakes, Fifo::new()))
    }

    /// Wakes every ticket that [relies](Gate::rely) on `home`, because `home` is gone. No ticket is
    /// settled.
    ///
    /// The tickets rely on nothing from then on, and need new [wakers](Gate::waker_mut).
    pub fn rouse(&mut self, home: NonZeroU64) {
        self.queue.rouse(home, |waker| self.wakes.push(waker));
    }

    /// Returns the next event, in the order in which the transitions happened, or `None` when no
    /// more is pending.
    ///
    /// While the gate is observed, every caller of an input must call this until it returns `None`.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pending.pop()
    }

    /// Does the same as [`poll_event`](Gate::poll_event), but moves the event to `place`: an event
    /// that was written a moment ago is slow to move, and this moves it once. Returns whether there
    /// was an event.
    #[inline]
    pub fn poll_event_into(&mut self, place: &mut Event) -> bool {
        self.events.pending.pop_into(place)
    }

    /// Returns whether [`poll_wake`](Gate::poll_wake) would return a waker.
    #[must_use]
    #[inline]
    pub fn has_wakes(&self) -> bool {
        !self.wakes.is_empty()
    }

    /// Returns whether [`poll_wake`](Gate::poll_wake) or [`poll_event`](Gate::poll_event) would
    /// return something.
    #[must_use]
    #[inline]
    pub fn has_output(&self) -> bool {
        !self.wakes.is_empty() || !self.events.pending.is_empty()
    }

    /// Sets which events are recorded: none at first.
    ///
    /// Events that were recorded before stay pending until they are pulled. If neither direct
    /// admissions nor releases are recorded, these cost nothing more; if rejections are, every
    /// rejection needs the gate.
    pub fn observe(&mut self, observed: EventFilter) {
        self.observed = self.with_watched(observed);
        self.bind();
    }

    /// Returns which events are recorded, or watched.
    #[must_use]
    pub fn observed(&self) -> EventFilter {
        self.observed
    }

    /// Returns the instant that the gate was given last.
    pub(crate) fn mark(&self) -> Instant {
        self.mark
    }

    /// Returns the [number](Event::number) of the event that was recorded last; zero before the
    /// first.
    pub(crate) fn events_recorded(&self) -> u64 {
        self.events.recorded
    }

    pub(super) fn checked_limits(&self) -> Checked {
        let Gate { capacity, waiting_room, waiting_room_units, wait_limit, .. } = *self;
        Checked { capacity, waiting_room, waiting_room_units, wait_limit }
    }

    /// Returns the limits in force.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.checked_limits().widen()
    }

    /// Returns all figures at `now`, or without it at the time of the latest input. It only notes
    /// the time: no request expires.
    ///
    /// It takes `&mut self` because each snapshot has the next number in the gate's series. While
    /// slots are [not collected](Snapshot::uncollected), it takes O(n) in the largest number of
    /// requests that ever waited.
    pub fn snapshot(&mut self, now: Option<Instant>) -> Snapshot {
        self.snapshots += 1;
        let (uncollected, uncollected_units) = self.queue.uncollected();
        let peaks = self.peaks_of_all_time();
        Snapshot {
            instance: self.instance,
            number: self.snapshots,
            at: now.unwrap_or(self.mark),
            limits: self.limits(),
            in_flight: self.in_flight as usize,
            in_use: self.in_use as usize,
            written_off: 0,
            split: 0,
            merged: 0,
            waiting: self.queue.len() as usize,
            waiting_units: self.queue.units(),
            peak_in_flight: peaks.in_flight as usize,
            peak_in_use: peaks.in_use as usize,
            peak_waiting: peaks.waiting as usize,
            peak_waiting_units: peaks.waiting_units,
            longest_wait_nanos: peaks.wait_nanos,
            uncollected: uncollected as usize,
            uncollected_units: uncollected_units as usize,
            uncollected_since: self.queue.uncollected_since(),
            taken_back: 0,
            ended_late: 0,
            reserve_nanos: 0,
            holds: 0,
            held: Sum::default(),
            busy: Busy::NONE,
            is_closed: self.closed,
            is_paused: self.is_paused(),
            #[cfg(feature = "restriction")]
            restriction: self.restriction(),
            totals: self.totals(),
        }
    }

    /// Replaces the contents of `into` by the waits that ended in admission, as many as a
    /// [snapshot](Gate::snapshot) counts as [admitted from the queue](Totals::admitted_from_queue).
    ///
    /// A wait that was not [measured](Gate::measure_waits) counts as zero long. Allocates nothing.
    #[cfg(feature = "histogram")]
    pub fn read_waits(&self, into: &mut Histogram) {
        self.waits.read(into);
    }

    #[cfg(feature = "histogram")]
    pub(crate) fn share_waits(&mut self, counts: SharedCounts) {
        self.waits.share(counts);
    }

    /// Returns the units that the waiting requests ask for.
    pub(crate) fn waiting_units(&self) -> u64 {
        self.queue.units()
    }

    /// Returns since when the first of the waiting requests has waited, if its wait is measured.
    pub(crate) fn waiting_since(&self) -> Option<Instant> {
        let (_, first) = self.queue.first()?;
        (first.since < Instant::FAR_FUTURE).then_some(first.since)
    }

    /// Returns the rejection of a ticket, if it was rejected.
    pub(crate) fn rejection(&self, ticket: &Ticket) -> Option<Rejection> {
        self.queue.rejection(ticket)
    }

    /// Returns how many requests have not found a free unit: they queued, or found no room.
    pub(crate) fn pressure(&self) -> u64 {
        self.totals.queued.wrapping_add(self.totals.saturated).wrapping_add(self.totals.expired_before_queue)
    }

    /// Returns all counters, without the number of a [`snapshot`](Gate::snapshot): slots that were
    /// split or merged are not [completed](crate::Calls::complete).
    pub(crate) fn totals(&self) -> Totals {
        // Every admitted operation has finished, unless it was abandoned or still runs.
        let mut totals = self.totals.totals();
        totals.finished = totals.admitted.wrapping_sub(totals.abandoned).wrapping_sub(self.in_flight.into());
        totals.finished_units =
            totals.admitted_units.wrapping_sub(totals.abandoned_units).wrapping_sub(self.in_use.into());
        totals
    }
}
