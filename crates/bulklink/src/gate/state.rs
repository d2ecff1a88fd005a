//! The state that the lock of a bulkhead protects: the gate, the account of single calls beside it,
//! the drivers and the handlers.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::mem;
use core::task::Waker;
use core::time::Duration;

#[cfg(feature = "std")]
use bulklink_core::Histogram;
use bulklink_core::plumbing::{self, Joining, Word};
use bulklink_core::pool::Demand;
use bulklink_core::{
    Answer, Calls, Gate, Grant, Instant, InvalidArgument, Request, Reserve, Restriction, Snapshot, Ticket,
};

use crate::gate::ceilings::Ceilings;
use crate::gate::delivery::{Displaced, Observers};
use crate::gate::drivers::Drivers;
use crate::gate::enter::NotGranted;
use crate::gate::rate::{ReleaseRate, Sample};
use crate::gate::shared::Shared;
use crate::limit::Adaptation;
use crate::observe::event::Handlers;
use crate::partitions::ShownKey;

/// The state that the lock of a bulkhead protects.
pub(crate) struct GateState {
    pub(crate) gate: Gate<Waker>,
    pub(crate) observers: Observers,
    pub(crate) drivers: Drivers,
    /// Made when the first call with a deadline comes, or when a slot is split, merged or written
    /// off, unless the bulkhead is built with it.
    pub(crate) calls: Option<Box<Calls>>,
    /// Made with the first of them.
    pub(crate) ceilings: Option<Box<Ceilings>>,
    /// Made for a shown key, an adaptive limit, or with the first estimate of a wait.
    pub(crate) rare: Option<Box<Rare>>,
}

/// The parts that most bulkheads do without. In one box, because there can be many partitions.
#[derive(Default)]
pub(crate) struct Rare {
    rate: Option<ReleaseRate>,
    /// The key of the partition that has this bulkhead, if operators may see it.
    pub(crate) key: Option<Arc<ShownKey>>,
    pub(crate) adaptation: Option<Box<Adaptation>>,
}

impl Rare {
    pub(crate) fn of_key(key: Arc<ShownKey>) -> Self {
        Rare { key: Some(key), ..Rare::default() }
    }
}

impl GateState {
    /// Returns whether the account of single calls decides on the request.
    #[inline]
    pub(super) fn keeps_account_of(&self, request: &Request) -> bool {
        self.calls.is_some() || request.has_call_deadline()
    }

    /// Enters the gate, by the account of single calls if that decides on the request.
    pub(super) fn enter(
        &mut self,
        request: &Request,
        now: Option<Instant>,
        joining: &mut Joining<Waker>,
    ) -> Result<Answer, InvalidArgument> {
        let answer = match (&mut self.calls, now) {
            (None, Some(now)) if request.has_call_deadline() => {
                self.calls.insert(new_calls()).enter(&mut self.gate, request, now)
            }
            (Some(calls), Some(now)) => calls.enter(&mut self.gate, request, now),
            (Some(calls), None) if calls.needs_now(&self.gate) => return Ok(Answer::NeedsNow),
            _ => return plumbing::enter(&mut self.gate, request, now, joining),
        };
        if let Ok(Answer::Queued(ticket)) = &answer {
            if let Some(parked) = self.gate.waker_mut(ticket) {
                mem::swap(parked, &mut joining.waker);
            }
            if let (_, Some(due)) = self.times(ticket) {
                self.gate.rely(ticket, joining.home(due));
            }
        }
        answer
    }

    /// Advances the gate as [`Gate::advance`] does, after slots were taken back that were not
    /// collected in time.
    #[inline]
    pub(crate) fn advance(&mut self, now: Option<Instant>) {
        match (&mut self.calls, now) {
            (Some(calls), Some(now)) => calls.advance(&mut self.gate, now),
            _ => _ = self.gate.advance(now),
        }
    }

    /// Returns the demand of a member of a pool.
    pub(crate) fn demand(&self) -> Demand {
        self.gate.demand()
    }

    /// Returns the time of the latest input.
    pub(crate) fn mark(&self) -> Instant {
        plumbing::mark(&self.gate)
    }

    pub(crate) fn resume(&mut self, now: Instant) -> bool {
        self.take_back_due(now);
        let changes = self.gate.resume(now);
        self.note_use(now);
        changes
    }

    /// Notes the units in use after an input to the gate itself that can change them.
    pub(crate) fn note_use(&mut self, now: Instant) {
        if let Some(calls) = &mut self.calls {
            calls.note_use(&self.gate, now);
        }
    }

    /// Takes back the slots that were not collected in time. Called before an input of the gate
    /// that can hand over slots.
    pub(crate) fn take_back_due(&mut self, now: Instant) {
        if self.takes_back() {
            self.advance(Some(now));
        }
    }

    pub(crate) fn takes_back(&self) -> bool {
        self.calls.as_ref().is_some_and(|calls| calls.takes_back())
    }

    /// Returns the next time at which the gate should be advanced.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        match &self.calls {
            Some(calls) => calls.next_deadline(&self.gate),
            None => self.gate.next_deadline(),
        }
    }

    /// Returns the deadline of a ticket, and when the gate must be advanced, for this ticket or
    /// another.
    fn times(&self, ticket: &Ticket) -> (Option<Instant>, Option<Instant>) {
        let deadline = self.gate.deadline(ticket);
        if deadline.is_some() && self.takes_back() {
            return (deadline.filter(|&deadline| deadline < Calls::NO_DEADLINE), self.next_deadline());
        }
        (deadline, deadline)
    }

    /// Returns how a ticket waits.
    pub(crate) fn wait(&self, ticket: &Ticket) -> NotGranted {
        match self.times(ticket) {
            (_, None) => NotGranted::Queued,
            (deadline, Some(due)) => NotGranted::Timed { deadline, due, home: self.gate.relies_on(ticket) },
        }
    }

    /// Takes back the slots that were handed over at least this long ago and are not collected.
    /// Returns their number.
    #[cold]
    pub(crate) fn take_back(&mut self, least_age: Duration, now: Instant) -> usize {
        let calls = self.calls.get_or_insert_with(new_calls);
        let taken_back = calls.take_back(&mut self.gate, least_age, now);
        self.gate.advance(Some(now));
        self.note_use(now);
        taken_back
    }

    #[inline]
    pub(super) fn publish(&self) -> Word {
        match &self.calls {
            Some(calls) if calls.needs_now(&self.gate) => Word::TIMED_GATE,
            _ => self.gate.publish(),
        }
    }

    #[inline]
    pub(crate) fn collect(&mut self, ticket: Ticket) -> Answer {
        match &mut self.calls {
            Some(calls) => calls.collect(&mut self.gate, ticket),
            None => self.gate.collect(ticket),
        }
    }

    #[inline]
    pub(crate) fn cancel(&mut self, ticket: Ticket, now: Option<Instant>) -> Result<Option<Waker>, Ticket> {
        match &mut self.calls {
            Some(calls) => calls.cancel(&mut self.gate, ticket, now),
            None => self.gate.cancel(ticket, now),
        }
    }

    /// Takes back the grant of an operation that never begins.
    pub(crate) fn abandon(&mut self, grant: Grant, now: Instant) {
        let grant = match &mut self.calls {
            Some(calls) => calls.abandon(grant, now),
            None => grant,
        };
        let rate = self.rare.as_mut().and_then(|rare| rare.rate.as_mut());
        if let (Some(rate), Some(units)) = (rate, grant.cost()) {
            rate.leave_out(units as u64);
        }
        self.gate.abandon(grant);
        self.advance(Some(now));
    }

    /// Ends an operation and advances. Without the time, returns the grant if that is needed.
    #[inline]
    pub(super) fn finish(&mut self, grant: Grant, now: Option<Instant>) -> Result<(), Grant> {
        if self.calls.is_some() { self.finish_any(grant, now) } else { plumbing::finish(&mut self.gate, grant, now) }
    }

    /// Ends an operation in any case, also by the account of single calls.
    #[cold]
    #[inline(never)]
    pub(crate) fn finish_any(&mut self, grant: Grant, now: Option<Instant>) -> Result<(), Grant> {
        let (Some(calls), Some(now)) = (&mut self.calls, now) else {
            return plumbing::finish(&mut self.gate, grant, now);
        };
        self.gate.release(calls.end(grant, now));
        calls.advance(&mut self.gate, now);
        Ok(())
    }

    /// Returns whether a ticket can leave by a quick path, which the account of single calls does
    /// not have. A small target does without.
    #[inline]
    fn has_quick_paths(&self) -> bool {
        cfg!(target_pointer_width = "64") && self.calls.is_none()
    }

    /// Redeems a granted ticket. Returns `None`, and changes nothing, where the general path is
    /// needed.
    #[inline]
    pub(crate) fn collect_granted(&mut self, ticket: &Ticket) -> Option<Grant> {
        if self.has_quick_paths() { plumbing::collect_granted(&mut self.gate, ticket) } else { None }
    }

    /// Withdraws a ticket that waits behind another, if nothing else follows from that.
    #[inline]
    pub(crate) fn cancel_behind(&mut self, ticket: Ticket) -> Result<Option<Waker>, Ticket> {
        if self.has_quick_paths() { plumbing::cancel_behind(&mut self.gate, ticket) } else { Err(ticket) }
    }

    pub(crate) fn split(&mut self, grant: Grant, units: usize) -> Result<(Grant, Grant), Grant> {
        self.calls.get_or_insert_with(new_calls).split(&mut self.gate, grant, units)
    }

    pub(crate) fn merge(&mut self, grant: Grant, merged: Grant, now: Instant) -> Grant {
        self.calls.get_or_insert_with(new_calls).merge(&mut self.gate, grant, merged, now)
    }

    pub(crate) fn write_off(&mut self, grant: Grant, now: Instant) {
        self.calls.get_or_insert_with(new_calls).write_off(&mut self.gate, grant, now);
    }

    pub(crate) fn snapshot(&mut self, now: Option<Instant>) -> Snapshot {
        if let Some(now) = now {
            self.note_use(now);
        }
        let mut snapshot = self.gate.snapshot(now);
        if let Some(calls) = &self.calls {
            calls.complete(&mut snapshot);
        }
        snapshot
    }

    /// Returns how long the first call in the queue has waited, if that is measured.
    pub(crate) fn oldest_wait(&self, now: Option<Instant>) -> Option<Duration> {
        Some(now?.saturating_since(plumbing::waiting_since(&self.gate)?))
    }

    /// Returns all figures, and replaces the lengths of waits and holds.
    #[cfg(feature = "std")]
    pub(crate) fn figures(&mut self, now: Option<Instant>, waits: &mut Histogram, holds: &mut Histogram) -> Snapshot {
        self.gate.read_waits(waits);
        match &self.calls {
            Some(calls) => calls.read_holds(holds),
            None => holds.clear(),
        }
        self.snapshot(now)
    }

    /// Estimates when a request of this cost would be admitted, and samples the counters for later
    /// estimates; see [`Handle::estimated_wait`](crate::Handle::estimated_wait). `is_short` is
    /// whether it would have to wait by the rules of a capacity that keys share.
    #[cold]
    pub(crate) fn estimated_wait(&mut self, cost: usize, now: Option<Instant>, is_short: bool) -> Option<Duration> {
        let occupancy = self.gate.occupancy();
        let all = Restriction::new(occupancy.capacity(), "");
        let Restriction { units, alone, .. } = self.gate.restriction().unwrap_or(all);
        let most = alone.max(units).min(occupancy.capacity());
        let is_possible = (1..=most).contains(&cost) && units > 0;
        if !is_possible || self.gate.is_closed() || self.gate.is_paused() {
            return None;
        }
        // While calls wait, this is more than zero: the first one does not fit.
        let asked =
            plumbing::waiting_units(&self.gate).saturating_add(cost as u64).saturating_add(occupancy.in_use() as u64);
        // A call that costs more than these units is admitted alone.
        let own = asked.saturating_sub(units.max(cost) as u64);
        // What it gives back itself is about its share of what all give back.
        let line = plumbing::waiting_units(&self.gate).saturating_add(cost as u64);
        let missing = if is_short { own.max(line) } else { own };
        let window = now.and_then(|at| {
            let sample = Sample::new(at, &plumbing::totals(&self.gate));
            let rate = &mut self.rare.get_or_insert_default().rate;
            rate.get_or_insert_with(|| ReleaseRate::from(sample)).window_to(sample)
        });
        if missing == 0 { Some(Duration::ZERO) } else { Some(window?.time_for(missing)) }
    }

    pub(crate) fn set_handlers(&mut self, shared: &Shared, handlers: Handlers) -> Displaced {
        let filter = handlers.filter();
        let displaced = self.observers.change(&mut self.gate, shared, handlers);
        self.gate.observe(filter);
        displaced
    }
}

/// Returns the account of a bulkhead that was built without one.
fn new_calls() -> Box<Calls> {
    Box::new(Calls::new(Reserve::default()))
}
