//! Coming in: the judgement on a new request.

use core::num::NonZeroU32;

use super::{Entry, Gate, Grant};
use crate::invalid::Found;
use crate::{EventKind, Instant, Invalid, Reason, Rejection, Request, Ticket};

/// What is to be done with a request.
enum Verdict {
    Admit,
    Queue,
    TurnAway(Reason),
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
    pub fn enter_untimed(&mut self, request: &Request) -> Result<Option<Entry>, Invalid> {
        self.enter_untimed_parking(request, &mut None)
    }

    /// As [`enter_untimed`](Gate::enter_untimed), and [parks](Gate::park) `waker` if that means to wait.
    ///
    /// # Errors
    ///
    /// As [`enter_untimed`](Gate::enter_untimed).
    pub fn enter_untimed_parking(
        &mut self,
        request: &Request,
        waker: &mut Option<W>,
    ) -> Result<Option<Entry>, Invalid> {
        if self.closed {
            return Ok(Some(self.turn_away(Reason::Closed, request.cost)));
        }
        let cost = self.check_cost(request)?;
        if request.has_deadline() || !self.advance_untimed() {
            return Ok(None);
        }
        match self.judge(request, cost) {
            Verdict::Queue if self.would_time(request) => Ok(None),
            verdict => Ok(Some(self.carry_out(verdict, request, cost, Instant::FAR_FUTURE, waker))),
        }
    }

    /// Decides on a request at `now`, after expiring the late and handing out what is free.
    ///
    /// The checks come in this order: closed, invalid cost, a deadline already past, room. Nobody is admitted past a waiter.
    ///
    /// # Errors
    ///
    /// If the cost is zero or more than the whole capacity. That is counted nowhere.
    pub fn enter(&mut self, request: &Request, now: Instant) -> Result<Entry, Invalid> {
        self.enter_parking(request, now, &mut None)
    }

    /// As [`enter`](Gate::enter), and [parks](Gate::park) `waker` if that means to wait.
    ///
    /// # Errors
    ///
    /// As [`enter`](Gate::enter).
    pub fn enter_parking(&mut self, request: &Request, now: Instant, waker: &mut Option<W>) -> Result<Entry, Invalid> {
        if self.closed {
            return Ok(self.turn_away(Reason::Closed, request.cost));
        }
        let cost = self.check_cost(request)?;
        let now = self.advance_to(now);
        let verdict = if request.is_past(now) { Verdict::TurnAway(Reason::Expired) } else { self.judge(request, cost) };
        Ok(self.carry_out(verdict, request, cost, now, waker))
    }

    /// Whether it matters when this one joins the queue.
    #[inline]
    fn would_time(&self, request: &Request) -> bool {
        self.measures_waits || request.has_limit() || self.wait_limit.is_some()
    }

    #[inline]
    fn check_cost(&self, request: &Request) -> Result<NonZeroU32, Invalid> {
        match u32::try_from(request.cost).ok().and_then(NonZeroU32::new) {
            Some(cost) if cost.get() <= self.capacity => Ok(cost),
            _ => Err(self.invalid_cost(request.cost)),
        }
    }

    #[cold]
    fn invalid_cost(&self, cost: usize) -> Invalid {
        Found::CostOutOfRange { cost, capacity: self.capacity }.into()
    }

    #[inline]
    fn judge(&self, request: &Request, cost: NonZeroU32) -> Verdict {
        if self.queue.len() == 0 && cost.get() <= self.free() {
            Verdict::Admit
        } else if !request.may_queue {
            Verdict::TurnAway(Reason::Saturated)
        } else if request.would_expire_at_once() {
            Verdict::TurnAway(Reason::Expired)
        } else if self.queue.len() >= self.waiting_room {
            Verdict::TurnAway(Reason::Saturated)
        } else {
            Verdict::Queue
        }
    }

    fn carry_out(
        &mut self,
        verdict: Verdict,
        request: &Request,
        cost: NonZeroU32,
        now: Instant,
        waker: &mut Option<W>,
    ) -> Entry {
        match verdict {
            Verdict::Admit => self.admit(cost),
            Verdict::Queue => Entry::Queued(self.join(request, cost, now, waker.take())),
            Verdict::TurnAway(reason) => self.turn_away(reason, cost.get() as usize),
        }
    }

    #[inline]
    fn admit(&mut self, cost: NonZeroU32) -> Entry {
        self.take(cost.get());
        self.note(EventKind::Admitted, cost.get() as usize);
        Entry::Granted(Grant { cost })
    }

    #[inline]
    fn join(&mut self, request: &Request, cost: NonZeroU32, now: Instant, waker: Option<W>) -> Ticket {
        let deadline = request.deadline(now, self.wait_limit);
        let ticket = self.queue.push(cost, now, deadline, waker);
        self.totals.queued += 1;
        self.totals.queued_units = self.totals.queued_units.wrapping_add(cost.get().into());
        self.peaks.waiting = self.peaks.waiting.max(self.queue.len());
        self.peaks.waiting_units = self.peaks.waiting_units.max(self.queue.units());
        self.note(EventKind::Queued, cost.get() as usize);
        ticket
    }

    fn turn_away(&mut self, reason: Reason, cost: usize) -> Entry {
        let (count, kind) = match reason {
            Reason::Saturated => (&mut self.totals.saturated, EventKind::Saturated),
            Reason::Expired => (&mut self.totals.expired_before_queue, EventKind::Expired),
            Reason::Closed => (&mut self.totals.closed_before_queue, EventKind::ClosedRejection),
        };
        *count += 1;
        self.note(kind, cost);
        Entry::Rejected(Rejection { reason, figures: self.figures(), waited_nanos: 0, limit_nanos: 0 })
    }
}
