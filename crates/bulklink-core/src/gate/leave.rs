//! The way of those who are in: parking, collecting, withdrawing, giving back. None of it takes the time.

use core::num::NonZeroU64;

use super::{Answer, Gate, Grant};
use crate::queue::{Granted, Outcome, Standing};
use crate::{EventKind, Instant, Ticket};

impl<W> Gate<W> {
    /// Leaves `waker` to be given out by [`poll_wake`](Gate::poll_wake) when the ticket is settled. Returns what it displaced,
    /// to be dropped outside the caller's lock; if the ticket is settled already, that is `waker` itself: collect it.
    #[inline]
    pub fn park(&mut self, ticket: &Ticket, waker: W) -> Option<W> {
        match self.queue.get_mut(ticket) {
            Some(waiting) => waiting.waker.replace(waker),
            None => Some(waker),
        }
    }

    /// Whether a ticket still waits. If not, [`collect`](Gate::collect) says what became of it.
    #[must_use]
    pub fn is_waiting(&self, ticket: &Ticket) -> bool {
        self.queue.get(ticket).is_some()
    }

    /// The waker parked with a ticket that still waits.
    #[must_use]
    #[inline]
    pub fn parked(&self, ticket: &Ticket) -> Option<&W> {
        self.queue.get(ticket)?.waker.as_ref()
    }

    /// The instant from which on a ticket that still waits is too late.
    #[must_use]
    #[inline]
    pub fn deadline(&self, ticket: &Ticket) -> Option<Instant> {
        if !self.queue.has_deadlines() {
            return None;
        }
        self.queue.deadline(self.queue.get(ticket)?)
    }

    /// Notes what a ticket with a deadline relies on to [advance](Gate::advance) the gate in time: a number of
    /// the caller's own. Of a ticket that no longer waits, or has no deadline, nothing is noted.
    #[inline]
    pub fn rely(&mut self, ticket: &Ticket, home: Option<NonZeroU64>) {
        self.queue.rely(ticket, home);
    }

    /// What a ticket [relies](Gate::rely) on, if it still waits.
    #[must_use]
    #[inline]
    pub fn relies_on(&self, ticket: &Ticket) -> Option<NonZeroU64> {
        self.queue.relies_on(ticket)
    }

    /// Redeems a ticket, or gives it back if it still waits.
    #[inline]
    pub fn collect(&mut self, ticket: Ticket) -> Answer {
        match self.queue.redeem(ticket) {
            Ok(Outcome::Granted(granted)) => Answer::Granted(Grant::by_gate(granted.cost)),
            Ok(Outcome::Rejected(rejection)) => Answer::Rejected(rejection),
            Err(ticket) => Answer::Queued(ticket),
        }
    }

    /// Ends an operation: its units are free again. If somebody waits for them, [`wants_now`](Gate::wants_now) is now true.
    #[inline]
    pub fn release(&mut self, grant: Grant) {
        let cost = grant.units();
        self.give_back(cost);
        self.note(EventKind::Released, cost as usize);
        self.note_drained();
    }

    /// Gives a grant back whose operation has not begun and never will: as [`release`](Gate::release), but counted as abandoned. Its
    /// event says nothing of the queue, as a grant does not know where it came from.
    pub fn abandon(&mut self, grant: Grant) {
        let cost = grant.units();
        self.count_abandoned(cost);
        self.note(EventKind::Abandoned, cost as usize);
        self.note_drained();
    }

    /// Withdraws a ticket in whatever state it is: a place in the queue is given up and counted as cancelled; a slot that was
    /// handed over is given back and counted as abandoned; a rejection stays counted as it is. Returns the parked waker, to be
    /// dropped outside the caller's lock. If a waiter can be admitted now, [`wants_now`](Gate::wants_now) is true.
    ///
    /// # Errors
    ///
    /// Without `now`, returns the ticket if the time makes a difference: to an observer, who is told how long the
    /// request had waited, or to a waiter that this lets in. Nothing has changed then: call again with the time.
    #[inline]
    pub fn cancel(&mut self, ticket: Ticket, now: Option<Instant>) -> Result<Option<W>, Ticket> {
        let standing = self.queue.standing(&ticket);
        match now {
            Some(now) => self.mark = now,
            None if self.events.observed || self.lets_others_in(standing) && self.needs_now(None) => {
                return Err(ticket);
            }
            None => {}
        }
        Ok(match standing {
            Standing::First | Standing::Behind => self.withdraw(ticket),
            Standing::Granted | Standing::Rejected => {
                self.give_up(ticket);
                None
            }
        })
    }

    /// Whether a waiter can be admitted once a ticket that stands like this is gone.
    fn lets_others_in(&self, standing: Standing) -> bool {
        match standing {
            Standing::First => self.free() > 0,
            Standing::Granted => self.queue.len() > 0,
            Standing::Behind | Standing::Rejected => false,
        }
    }

    #[inline]
    fn withdraw(&mut self, ticket: Ticket) -> Option<W> {
        let (cost, since, waker) = self.queue.withdraw(ticket);
        self.totals.cancelled += 1;
        self.note_settled(EventKind::Cancelled, cost, self.mark.nanos_since(since));
        waker
    }

    fn give_up(&mut self, ticket: Ticket) {
        if let Ok(Outcome::Granted(Granted { cost, waited_nanos })) = self.queue.redeem(ticket) {
            self.count_abandoned(cost.get());
            self.note_settled(EventKind::Abandoned, cost, waited_nanos);
            self.note_drained();
        }
    }

    #[inline]
    fn count_abandoned(&mut self, cost: u32) {
        self.give_back(cost);
        self.totals.abandoned += 1;
        self.totals.abandoned_units = self.totals.abandoned_units.wrapping_add(cost.into());
    }
}
