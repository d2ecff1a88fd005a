//! Coming in: the judgement on a new request.

use core::num::NonZeroU32;

use super::{Entry, Gate, Grant};
use crate::invalid::Found;
use crate::{EventKind, Instant, InvalidArgument, Reason, Rejection, Request, Ticket};

/// What was decided on a request, in as little as it takes.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a grant or a ticket that is forgotten keeps its units or its place"]
pub enum Decision {
    /// Admitted, as [`Entry::Granted`].
    Granted(Grant),
    /// In the queue, as [`Entry::Queued`].
    Queued(Ticket),
    /// Turned away, as [`Entry::Rejected`]; [`Gate::rejection`] has the rest, until the next input.
    Rejected(Reason),
    /// The answer depends on the time. Nothing has changed.
    NeedsNow,
    /// The cost is zero or more than the whole capacity, and counted nowhere; [`Gate::impossible`] has the rest.
    Impossible,
}

impl<W> Gate<W> {
    /// Decides on a request without knowing the time, or says with `None` that the answer depends on it: then nothing has
    /// changed, and [`enter`](Gate::enter) is to be called.
    ///
    /// The answer depends on the time while anybody waits, for a request with a deadline, and for one that would have to wait;
    /// where waits are [not measured](Gate::measure_waits), only if somebody's limit or deadline is concerned.
    ///
    /// # Errors
    ///
    /// If the cost is zero or more than the whole capacity. That is counted nowhere.
    pub fn enter_untimed(&mut self, request: &Request) -> Result<Option<Entry>, InvalidArgument> {
        let decision = self.decide(request, None, &mut None);
        self.spell_out(decision, request)
    }

    /// Decides on a request at `now`, after expiring the late and handing out what is free.
    ///
    /// The checks come in this order: closed, invalid cost, a deadline already past, room. Nobody is admitted past a waiter.
    ///
    /// # Errors
    ///
    /// If the cost is zero or more than the whole capacity. That is counted nowhere.
    pub fn enter(&mut self, request: &Request, now: Instant) -> Result<Entry, InvalidArgument> {
        let decision = self.decide(request, Some(now), &mut None);
        let Some(entry) = self.spell_out(decision, request)? else { unreachable!("the time is known") };
        Ok(entry)
    }

    fn spell_out(&self, decision: Decision, request: &Request) -> Result<Option<Entry>, InvalidArgument> {
        Ok(Some(match decision {
            Decision::Granted(grant) => Entry::Granted(grant),
            Decision::Queued(ticket) => Entry::Queued(ticket),
            Decision::Rejected(reason) => Entry::Rejected(self.rejection(reason)),
            Decision::NeedsNow => return Ok(None),
            Decision::Impossible => return Err(self.impossible(request)),
        }))
    }

    /// As [`enter`](Gate::enter), or as [`enter_untimed`](Gate::enter_untimed) without `now`, for whoever is in a hurry. Besides,
    /// if the request has to wait, `waker` is [parked](Gate::park).
    pub fn decide(&mut self, request: &Request, now: Option<Instant>, waker: &mut Option<W>) -> Decision {
        if self.closed {
            return self.turn_away(Reason::Closed, request.cost);
        }
        let Some(cost) = self.check_cost(request) else { return Decision::Impossible };
        match now {
            Some(now) => self.advance_to(now),
            None if request.has_deadline() || !self.advance_untimed() => return Decision::NeedsNow,
            None => {}
        }
        if now.is_some_and(|now| request.is_past(now)) {
            return self.turn_away(Reason::Expired, request.cost);
        }
        if self.queue.len() == 0 && cost.get() <= self.free() {
            self.admit(cost)
        } else if !request.may_queue {
            self.turn_away(Reason::Saturated, request.cost)
        } else if request.would_expire_at_once() {
            self.turn_away(Reason::Expired, request.cost)
        } else if self.queue.len() >= self.waiting_room {
            self.turn_away(Reason::Saturated, request.cost)
        } else if now.is_none() && self.needs_now(Some(request)) {
            Decision::NeedsNow
        } else {
            self.join(request, cost, now.unwrap_or(Instant::FAR_FUTURE), waker.take())
        }
    }

    /// Whether the gate would reject this request at `now` whatever room there is: it is closed, or the cost is
    /// impossible, or the deadline is past.
    #[must_use]
    pub fn would_reject(&self, request: &Request, now: Instant) -> bool {
        self.closed || self.check_cost(request).is_none() || request.is_past(now)
    }

    /// What a request is told that was turned away just now.
    #[must_use]
    pub fn rejection(&self, reason: Reason) -> Rejection {
        Rejection { reason, occupancy: self.occupancy(), waited_nanos: 0, limit_nanos: 0 }
    }

    /// What is wrong with a request of impossible cost.
    #[must_use]
    pub fn impossible(&self, request: &Request) -> InvalidArgument {
        Found::CostOutOfRange { cost: request.cost, capacity: self.capacity }.into()
    }

    #[inline]
    fn check_cost(&self, request: &Request) -> Option<NonZeroU32> {
        u32::try_from(request.cost).ok().and_then(NonZeroU32::new).filter(|cost| cost.get() <= self.capacity)
    }

    #[inline]
    fn admit(&mut self, cost: NonZeroU32) -> Decision {
        self.take(cost.get());
        self.note(EventKind::Admitted, cost.get() as usize);
        Decision::Granted(Grant::by_gate(cost))
    }

    #[inline]
    fn join(&mut self, request: &Request, cost: NonZeroU32, now: Instant, waker: Option<W>) -> Decision {
        let deadline = request.deadline(now, self.wait_limit);
        let is_measured = self.measures_waits || deadline < Instant::FAR_FUTURE;
        let since = if is_measured { now } else { Instant::FAR_FUTURE };
        let ticket = self.queue.push(cost, since, deadline, waker);
        self.totals.queued += 1;
        self.totals.queued_units = self.totals.queued_units.wrapping_add(cost.get().into());
        self.peaks.waiting = self.peaks.waiting.max(self.queue.len());
        self.peaks.waiting_units = self.peaks.waiting_units.max(self.queue.units());
        self.note(EventKind::Queued, cost.get() as usize);
        Decision::Queued(ticket)
    }

    fn turn_away(&mut self, reason: Reason, cost: usize) -> Decision {
        let (count, kind) = match reason {
            Reason::Saturated => (&mut self.totals.saturated, EventKind::Saturated),
            Reason::Expired => (&mut self.totals.expired_before_queue, EventKind::Expired),
            Reason::Closed => (&mut self.totals.closed_before_queue, EventKind::ClosedRejection),
        };
        *count += 1;
        self.note(kind, cost);
        Decision::Rejected(reason)
    }
}
