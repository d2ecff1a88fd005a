//! How a request enters: admitted, queued or rejected.

use core::num::NonZeroU32;

use super::{Answer, Gate};
use crate::coarse::Coarse;
use crate::invalid::Violation;
use crate::limits::UNBOUNDED;
use crate::queue::Joining;
use crate::{EventKind, Grant, Instant, InvalidArgument, Reason, Rejection, Request, Ticket};

impl<W> Gate<W> {
    /// Decides on a request: admits it, queues it or rejects it.
    ///
    /// With `now`, waiters that are due expire first, and free units go to the head of the queue.
    /// The checks come in this order: closed, invalid cost, a deadline already past, room. No
    /// request is admitted past a waiter.
    ///
    /// Without `now`, the answer is [`NeedsNow`](Answer::NeedsNow) where it depends on the time,
    /// and the request has had no effect then: call again with the time. It depends on the time
    /// while any request waits, for a request with a deadline, and for one that would have to wait.
    /// Where waits are [not measured](Gate::measure_waits), it does only if a limit or a deadline
    /// is involved.
    ///
    /// # Errors
    ///
    /// If the cost is zero or more than the whole capacity. The request is not counted.
    #[inline]
    pub fn enter(&mut self, request: &Request, now: Option<Instant>) -> Result<Answer, InvalidArgument> {
        self.enter_with::<true>(request, now, &mut Joining::new(None))
    }

    /// Decides as [`enter`](Gate::enter) does. A request that is queued leaves with its ticket what
    /// it brings. Without `FETCHES`, the request does not fetch.
    #[inline]
    pub(crate) fn enter_with<const FETCHES: bool>(
        &mut self,
        request: &Request,
        now: Option<Instant>,
        joining: &mut Joining<W>,
    ) -> Result<Answer, InvalidArgument> {
        if self.closed {
            return Ok(self.reject(Reason::Closed, request.cost));
        }
        let Some(cost) = self.check_cost(request) else { return Err(self.invalid_cost(request)) };
        // Waiters come first: advancing before room is judged keeps a request from overtaking one.
        if request.has_deadline() && now.is_none() || !self.advance(now) {
            return Ok(Answer::NeedsNow);
        }
        if now.is_some_and(|now| request.is_past(now)) {
            return Ok(self.reject_with(Reason::Expired, request.cost, Coarse::DEADLINE.bits().into()));
        }
        // Each answer is returned where it is made: it is slow to move.
        if self.queue.len() == 0 && self.fits(cost.get()) {
            return Ok(self.admit(cost));
        }
        if request.would_expire_immediately() {
            return Ok(self.reject(Reason::Expired, request.cost));
        }
        let has_no_place = !request.may_queue() || self.queue.len() >= self.waiting_room;
        #[cfg(feature = "restriction")]
        if FETCHES && (has_no_place || !self.has_waiting_units_for(cost)) {
            // A controller may soon let in more.
            if let Some(request) = self.fetch(request, cost) {
                let Some(now) = now else { return Ok(Answer::NeedsNow) };
                return Ok(Answer::Queued(self.join(&request, cost, now, joining)));
            }
        }
        if has_no_place {
            return Ok(self.reject(Reason::Saturated, request.cost));
        }
        if !self.has_waiting_units_for(cost) {
            return Ok(self.reject_for_units(cost));
        }
        if now.is_none() && self.needs_now(Some(request)) {
            return Ok(Answer::NeedsNow);
        }
        // Without the time, nothing about this wait depends on it, and the far future is a
        // placeholder.
        Ok(Answer::Queued(self.join(request, cost, now.unwrap_or(Instant::FAR_FUTURE), joining)))
    }

    /// Returns whether the gate would reject this request at `now` whatever room there is: the gate
    /// is closed, the cost is out of range, or the deadline is past.
    #[must_use]
    pub fn would_reject(&self, request: &Request, now: Instant) -> bool {
        self.closed || self.check_cost(request).is_none() || request.is_past(now)
    }

    #[cold]
    fn invalid_cost(&self, request: &Request) -> InvalidArgument {
        Violation::CostOutOfRange { cost: request.cost, capacity: self.capacity }.into()
    }

    /// Returns the cost if it is in range: from 1 to the capacity.
    #[inline]
    fn check_cost(&self, request: &Request) -> Option<NonZeroU32> {
        NonZeroU32::new(request.cost).filter(|cost| cost.get() <= self.capacity)
    }

    #[inline]
    fn admit(&mut self, cost: NonZeroU32) -> Answer {
        self.take(cost.get());
        self.note(EventKind::Admitted, cost.get() as usize);
        Answer::Granted(Grant::by_gate(cost, 0))
    }

    #[inline]
    fn join(&mut self, request: &Request, cost: NonZeroU32, now: Instant, joining: &mut Joining<W>) -> Ticket {
        let deadline = request.wait_end(now, self.wait_limit);
        // A wait that is not measured gets a far-future start, so that its length saturates to
        // zero.
        let is_measured = self.measures_waits || deadline < Instant::FAR_FUTURE;
        let since = if is_measured { now } else { Instant::FAR_FUTURE };
        let ticket = self.queue.push(cost, since, deadline, joining);
        self.totals.queued += 1;
        self.totals.queued_units = self.totals.queued_units.wrapping_add(cost.get().into());
        self.peaks.waiting = self.peaks.waiting.max(self.queue.len());
        self.peaks.waiting_units = self.peaks.waiting_units.max(self.queue.units());
        self.note(EventKind::Queued, cost.get() as usize);
        ticket
    }

    /// Returns whether the bound on the units that are waited for leaves room for this cost.
    #[inline]
    pub(super) fn has_waiting_units_for(&self, cost: NonZeroU32) -> bool {
        let units = self.queue.units() + u64::from(cost.get());
        units <= u64::from(self.waiting_room_units) || self.waiting_room_units == UNBOUNDED
    }

    /// The rejection has the units that wait and their bound; no bound is zero.
    #[cold]
    fn reject_for_units(&mut self, cost: NonZeroU32) -> Answer {
        let (units, bound) = (self.queue.units().min(u32::MAX.into()), self.waiting_room_units);
        self.reject_with(Reason::Saturated, cost.get(), units << 32 | u64::from(bound))
    }

    fn reject(&mut self, reason: Reason, cost: u32) -> Answer {
        self.reject_with(reason, cost, 0)
    }

    /// For `Expired`, the wait had no limit but this: the bits of [`Rejection::kept`].
    #[inline(never)]
    #[expect(clippy::cast_possible_truncation, reason = "24 bits")]
    fn reject_with(&mut self, reason: Reason, cost: u32, exact: u64) -> Answer {
        let (count, kind) = match reason {
            Reason::Saturated => {
                self.count_refused(cost.into());
                (&mut self.totals.saturated, EventKind::Saturated)
            }
            Reason::Expired => (&mut self.totals.expired_before_queue, EventKind::Expired),
            // On entry, no request is rejected as uncollected or displaced.
            Reason::Closed | Reason::Uncollected | Reason::Displaced => {
                (&mut self.totals.closed_before_queue, EventKind::ClosedRejection)
            }
        };
        *count += 1;
        self.note(kind, cost as usize);
        let (kept, exact) = if reason == Reason::Expired { (exact as u32, 0) } else { (0, exact) };
        let kept = Coarse::of(kept).flagged(self.is_paused());
        Answer::Rejected(Rejection { reason, occupancy: self.occupancy(), cost, exact, waited: 0, kept })
    }
}
