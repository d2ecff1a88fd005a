//! The inputs of a ticket or a grant after entry: parking, collecting, cancelling, releasing.
//! None of it needs the time, except cancelling in some states.

use alloc::vec::Vec;
use core::num::NonZeroU64;

use super::{Answer, Gate};
use crate::coarse::{Coarse, FRACTION, pack};
use crate::queue::{Granted, TicketState, Uncollected};
use crate::{EventKind, Grant, Instant, Reason, Rejection, Ticket};

impl<W> Gate<W> {
    /// Returns the place for the waker of a ticket that still waits. [`poll_wake`](Gate::poll_wake)
    /// returns the waker when the ticket is settled. A displaced waker must be dropped outside the
    /// caller's lock.
    ///
    /// Returns `None` if the ticket is settled: [`collect`](Gate::collect) returns its outcome.
    #[must_use]
    #[inline]
    pub fn waker_mut(&mut self, ticket: &Ticket) -> Option<&mut Option<W>> {
        self.queue.waker_mut(ticket)
    }

    /// Returns the instant from which on a ticket that still waits is expired, if it has one.
    #[must_use]
    #[inline]
    pub fn deadline(&self, ticket: &Ticket) -> Option<Instant> {
        if !self.queue.has_deadlines() {
            return None;
        }
        self.queue.deadline(self.queue.get(ticket)?)
    }

    /// Records the driver on which a ticket with a deadline relies to [advance](Gate::advance) the
    /// gate in time: a number that the caller chooses.
    ///
    /// Nothing is recorded for a ticket that no longer waits or has no deadline.
    #[inline]
    pub fn rely(&mut self, ticket: &Ticket, home: Option<NonZeroU64>) {
        self.queue.rely(ticket, home);
    }

    /// Returns the driver on which the ticket [relies](Gate::rely), if it still waits with a
    /// deadline.
    #[must_use]
    #[inline]
    pub fn relies_on(&self, ticket: &Ticket) -> Option<NonZeroU64> {
        self.queue.relies_on(ticket)
    }

    pub(crate) fn granted_wait(&self, ticket: &Ticket) -> u64 {
        self.queue.granted_wait(ticket)
    }

    /// Returns the slots that are handed over and not collected yet, the oldest last.
    pub(crate) fn uncollected(&self) -> Vec<Uncollected> {
        self.queue.all_uncollected()
    }

    /// Returns whether any slot is handed over and not collected yet, or any request waits for one.
    pub(crate) fn has_tickets(&self) -> bool {
        self.queue.len() > 0 || self.queue.uncollected().0 > 0
    }

    /// Takes back a slot that was handed over, if it is not collected yet. Returns whether that is
    /// so. [`advance`](Gate::advance) must follow.
    pub(crate) fn take_back(&mut self, found: &Uncollected, now: Instant) -> bool {
        let Some((place, granted)) = self.queue.still_uncollected(found) else { return false };
        let Granted { cost, waited_nanos, at } = granted;
        self.count_abandoned(cost.get());
        self.note_settled(EventKind::Uncollected, cost, waited_nanos);
        let (exact, kept) = (now.nanos_since(at), Coarse::NONE.flagged(self.is_paused()));
        let waited = pack(waited_nanos, FRACTION);
        let (reason, occupancy) = (Reason::Uncollected, self.occupancy());
        self.queue.note_collected(cost);
        self.queue.reject(place, Rejection { reason, occupancy, cost: cost.get(), exact, waited, kept });
        self.note_drained();
        true
    }

    /// Redeems a settled ticket for its outcome. Returns a ticket that still waits as
    /// [`Answer::Queued`].
    #[inline]
    pub fn collect(&mut self, ticket: Ticket) -> Answer {
        if let Some(grant) = self.collect_granted(&ticket) {
            return Answer::Granted(grant);
        }
        match self.queue.redeem_rejected(&ticket) {
            Some(rejection) => Answer::Rejected(rejection),
            None => Answer::Queued(ticket),
        }
    }

    /// Redeems a granted ticket; another ticket stays as it is. This is the usual case of
    /// [`collect`](Gate::collect), whose answer is slow to move.
    #[cfg_attr(target_pointer_width = "64", inline(always))]
    #[expect(clippy::inline_always, reason = "the general way is rare")]
    pub(crate) fn collect_granted(&mut self, ticket: &Ticket) -> Option<Grant> {
        let Granted { cost, waited_nanos, .. } = self.queue.redeem_granted(ticket)?;
        Some(Grant::by_gate(cost, waited_nanos))
    }

    /// Ends an operation and frees its units. If a waiter can be admitted now,
    /// [`wants_now`](Gate::wants_now) is true afterwards.
    #[inline]
    pub fn release(&mut self, grant: Grant) {
        let cost = grant.units();
        self.give_back(cost);
        self.note(EventKind::Released, cost as usize);
        self.note_drained();
    }

    /// Ends an operation and [advances](Gate::advance), in one step. Without `now`, returns the
    /// grant if the time is [needed](Gate::needs_now), and nothing has changed.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "of its two callers, one is rare")]
    pub(crate) fn finish(&mut self, grant: Grant, now: Option<Instant>) -> Result<(), Grant> {
        if now.is_none() && self.needs_now(None) {
            return Err(grant);
        }
        self.release(grant);
        if now.is_some() || self.queue.len() > 0 {
            self.advance_to(now.unwrap_or(self.mark));
        }
        Ok(())
    }

    /// Gives back a grant for an operation that has not begun and never will.
    ///
    /// Works as [`release`](Gate::release), but counts as abandoned. Its event has nothing about
    /// the queue, because a grant does not record whether it came from there.
    pub fn abandon(&mut self, grant: Grant) {
        let cost = grant.units();
        self.count_abandoned(cost);
        self.note(EventKind::Abandoned, cost as usize);
        self.note_drained();
    }

    /// Withdraws a ticket in whatever state it is.
    ///
    /// A place in the queue is given up and counts as cancelled. A slot that was handed to the
    /// ticket is given back and counts as abandoned. A rejection stays counted as it is. Returns
    /// the parked waker, which must be dropped outside the caller's lock. If a waiter can be
    /// admitted now, [`wants_now`](Gate::wants_now) is true afterwards.
    ///
    /// # Errors
    ///
    /// Without `now`, returns the ticket if the time makes a difference: to an observer, because
    /// the event carries the time waited, or to a waiter that this can admit. Nothing has changed
    /// then: call again with the time.
    #[inline]
    pub fn cancel(&mut self, ticket: Ticket, now: Option<Instant>) -> Result<Option<W>, Ticket> {
        let state = self.queue.state(&ticket);
        match now {
            Some(now) => self.mark = now,
            None if self.observed.includes(EventKind::Cancelled, true)
                || self.unblocks_a_waiter(state) && self.needs_now(None) =>
            {
                return Err(ticket);
            }
            None => {}
        }
        let Some((cost, since, waker)) = self.queue.withdraw(&ticket) else {
            self.discard_settled(ticket);
            return Ok(None);
        };
        self.totals.cancelled += 1;
        self.note_settled(EventKind::Cancelled, cost, self.mark.nanos_since(since));
        Ok(waker)
    }

    /// Withdraws a ticket that waits behind another, if nothing else follows from that and
    /// [`publish`](Gate::publish) returns the same word before and after. Returns the parked waker;
    /// or the ticket, and nothing has changed.
    #[inline]
    pub(crate) fn cancel_behind(&mut self, ticket: Ticket) -> Result<Option<W>, Ticket> {
        // Where waits are not measured, the last deadline that goes changes the word; so does a
        // full waiting room.
        let keeps_word = self.queue.len() < self.waiting_room && (self.measures_waits || !self.queue.has_deadlines());
        let is_observed = self.observed.includes(EventKind::Cancelled, true);
        if is_observed || !keeps_word || self.queue.is_first(&ticket) {
            return Err(ticket);
        }
        let (_, _, waker) = self.queue.withdraw(&ticket).ok_or(ticket)?;
        self.totals.cancelled += 1;
        Ok(waker)
    }

    /// Returns whether a waiter can be admitted once a ticket in this state is gone.
    fn unblocks_a_waiter(&self, state: TicketState) -> bool {
        match state {
            TicketState::First => self.free_units() > 0,
            TicketState::Granted => self.queue.len() > 0,
            TicketState::Behind | TicketState::Rejected => false,
        }
    }

    fn discard_settled(&mut self, ticket: Ticket) {
        let Some(Granted { cost, waited_nanos, .. }) = self.queue.redeem_granted(&ticket) else {
            return self.queue.forget(&ticket);
        };
        self.count_abandoned(cost.get());
        self.note_settled(EventKind::Abandoned, cost, waited_nanos);
        self.note_drained();
    }

    #[cfg_attr(target_pointer_width = "64", inline)]
    #[cfg_attr(not(target_pointer_width = "64"), inline(never))]
    fn count_abandoned(&mut self, cost: u32) {
        self.give_back(cost);
        self.totals.abandoned += 1;
        self.totals.abandoned_units = self.totals.abandoned_units.wrapping_add(cost.into());
    }
}
