//! The one place where slots move: expire waiters that are due, then admit from the head.

use super::Gate;
use crate::coarse::{Coarse, FRACTION, pack};
use crate::queue::{HandedOver, Place, Waiting};
use crate::{EventKind, Instant, Reason, Rejection, Request};

impl<W> Gate<W> {
    /// Moves everything that `now` allows: expires the waiters that are due, then admits from the
    /// head of the queue for as long as free units suffice.
    ///
    /// So a slot that is given back at `now` never goes to a ticket that is due by then.
    ///
    /// An earlier `now` than before is used as it is: it expires fewer waiters, and a wait that
    /// seems to have begun later counts as zero long. So clock readings may reach the gate out of
    /// order, and callers may use different clocks: a ticket expires no later than its deadline by
    /// the clock that it joined with, and earlier if a clock that is ahead comes first.
    ///
    /// Without `now`, does the same where the time makes no difference. Returns whether it
    /// advanced: `false` means that the time is [needed](Gate::needs_now) and nothing has changed.
    #[inline]
    pub fn advance(&mut self, now: Option<Instant>) -> bool {
        match now {
            Some(now) => self.advance_to(now),
            None if self.queue.len() == 0 => {}
            None if self.needs_now(None) => return false,
            None => self.advance_to(self.mark),
        }
        true
    }

    /// Returns whether the time makes a difference: to a request that has to wait (`Some`), or to
    /// inputs that move slots (`None`).
    ///
    /// It does where a wait is measured or can end by itself: with `Some`, the wait that would
    /// begin; with `None`, the waits that go on.
    #[must_use]
    #[inline]
    pub fn needs_now(&self, joins: Option<&Request>) -> bool {
        match joins {
            Some(request) => self.measures_waits || self.wait_limit.is_some() || request.has_limit(),
            None => self.queue.len() > 0 && (self.measures_waits || self.queue.has_deadlines()),
        }
    }

    #[cfg_attr(target_pointer_width = "64", inline)]
    #[cfg_attr(not(target_pointer_width = "64"), inline(never))]
    pub(super) fn advance_to(&mut self, now: Instant) {
        self.mark = now;
        // Expiring comes first, so that no unit goes to a waiter that is due.
        if self.queue.has_deadlines() {
            self.expire_due();
        }
        let free = self.free_units();
        if free > 0 {
            self.hand_over(free, now);
        }
    }

    /// Admits from the head of the queue. Usually the first takes all that is free, and then the
    /// queue is not looked at again.
    #[cfg_attr(target_pointer_width = "64", inline(never))]
    fn hand_over(&mut self, mut free: u32, now: Instant) {
        while let Some(handed_over) = self.queue.grant_first(free, now) {
            free -= handed_over.cost.get();
            self.note_handed_over(handed_over);
            if free == 0 {
                return;
            }
        }
        if self.controlled.is_some() {
            self.hand_over_alone(now);
        }
    }

    /// Admits the head of the queue if it is one that is admitted only alone: nothing is free after
    /// it.
    #[cold]
    #[inline(never)]
    fn hand_over_alone(&mut self, now: Instant) {
        if let Some(cost) = self.cost_alone() {
            self.hand_over(cost, now);
        }
    }

    #[cfg_attr(target_pointer_width = "64", inline(never))]
    fn expire_due(&mut self) {
        while let Some(place) = self.queue.due(self.mark) {
            self.totals.expired += 1;
            self.reject_waiter(place, Reason::Expired, EventKind::Expired);
        }
    }

    /// Returns whether slots could move if the time were known: a request waits, and enough units
    /// for the head are free. Then [`advance`](Gate::advance) must be called.
    #[must_use]
    #[inline]
    pub fn wants_now(&self) -> bool {
        self.queue.first().is_some_and(|(_, first)| self.fits(first.cost.get()))
    }

    /// Returns the next time at which [`advance`](Gate::advance) should be called, if any waiter
    /// has a deadline. It may change after any input.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.queue.next_deadline()
    }

    /// Counts a slot that was handed to a waiter.
    #[inline]
    fn note_handed_over(&mut self, HandedOver { cost, waited_nanos, waker }: HandedOver<W>) {
        self.take(cost.get());
        self.count_wait(cost.get(), waited_nanos);
        self.note_settled(EventKind::Admitted, cost, waited_nanos);
        self.wake(waker);
    }

    #[inline]
    fn count_wait(&mut self, cost: u32, waited_nanos: u64) {
        self.totals.admitted_from_queue += 1;
        self.totals.admitted_from_queue_units = self.totals.admitted_from_queue_units.wrapping_add(cost.into());
        self.totals.waited.add(waited_nanos.into());
        // A build that measures the cost of the histogram leaves it out.
        if cfg!(not(bulklink_no_statistics)) {
            self.waits.count(waited_nanos);
        }
        self.peaks.wait_nanos = self.peaks.wait_nanos.max(waited_nanos);
    }

    /// Takes a request out of the line and leaves a rejection in its place.
    #[inline(never)]
    pub(super) fn reject_waiter(&mut self, place: Place, reason: Reason, kind: EventKind) {
        let waiting = self.queue.waiting(place);
        let Waiting { cost, since, .. } = *waiting;
        let deadline = self.queue.deadline(waiting).unwrap_or(self.mark);
        // Leaving removes the deadline, so that is read above; the occupancy, read below, must not
        // count this waiter.
        let waker = self.queue.leave(place);
        let waited_nanos = self.mark.nanos_since(since);
        let exact = if reason == Reason::Expired { deadline.nanos_since(since) } else { waited_nanos };
        let waited = pack(waited_nanos.saturating_sub(exact), FRACTION);
        self.note_settled(kind, cost, waited_nanos);
        let kept = Coarse::NONE.flagged(self.is_paused());
        let rejection = Rejection { reason, occupancy: self.occupancy(), cost: cost.get(), exact, waited, kept };
        self.queue.reject(place, rejection);
        self.wake(waker);
    }
}
