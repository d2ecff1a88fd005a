//! The calls that a gate itself keeps no account of: those with a deadline, those with a hold that
//! is measured, and those that do not collect their slot.

mod sample;

use alloc::vec::Vec;
use core::time::Duration;

use crate::busy::Busy;
use crate::coarse::Coarse;
use crate::fork::Fork;
use crate::histogram::Tally;
#[cfg(feature = "histogram")]
use crate::histogram::{Histogram, SharedCounts};
use crate::instant::nanos;
use crate::limit::Outcome;
use crate::queue::Uncollected;
use crate::reserve::{Call, ReserveState};
use crate::slab::{Place, Slab, invalid_place};
use crate::totals::Sum;
use crate::{Answer, Gate, Grant, Instant, InvalidArgument, Reason, Request, Reserve, Snapshot, Ticket};

/// The account of single calls, beside the gate that decides on them.
///
/// It turns the two instants of a call with a [deadline](Request::deadline), the end of its wait
/// and the end of the call, into inputs of the gate. A gate without it treats the deadline of a
/// call as one of its admission. It also [measures](Calls::measure_holds) how long slots are held,
/// and [takes back](Calls::collect_limit) those that are not collected.
///
/// Once a gate has one, [`enter`](Calls::enter), [`advance`](Calls::advance),
/// [`collect`](Calls::collect) and [`cancel`](Calls::cancel) replace the gate's methods. Only it
/// can [split](Calls::split), [merge](Calls::merge) and [write off](Calls::write_off) grants. A
/// grant goes through [`end`](Calls::end) or [`abandon`](Calls::abandon) on its way back to the
/// gate.
///
/// ```
/// use bulklink_core::{Answer, Calls, Gate, Instant, Limits, Request, Reserve};
///
/// let mut gate: Gate<()> = Gate::new(Limits::new(1))?;
/// let mut calls = Calls::new(Reserve::Learnt);
/// let request = Request::new().deadline(Instant::from_nanos(100));
/// let answer = calls.enter(&mut gate, &request, Instant::from_nanos(10))?;
/// let Answer::Granted(grant) = answer else { panic!("not granted") };
///
/// let now = Instant::from_nanos(101);
/// gate.release(calls.end(grant, now));
/// let mut snapshot = gate.snapshot(Some(now));
/// calls.complete(&mut snapshot);
/// assert_eq!(snapshot.ended_late, 1);
/// # Ok::<(), bulklink_core::InvalidArgument>(())
/// ```
///
/// # Panics
///
/// Tickets and grants are valid only for the gate, and the `Calls`, that issued them.
#[derive(Debug)]
pub struct Calls {
    reserve: ReserveState,
    ended_late: u64,
    measures_holds: bool,
    holds: u64,
    held: Sum,
    /// The holds that ended, by their length.
    lengths: Tally,
    busy: Busy,
    /// `u64::MAX` for any length of time.
    collect_limit_nanos: u64,
    /// The slots that were not collected at the last look, the oldest last.
    found: Vec<Uncollected>,
    /// When to look next. A slot that is not among those found cannot be due before.
    next_look: Instant,
    taken_back: u64,
    split: u64,
    merged: u64,
    written_off: usize,
    /// The calls that had waited or were turned away at the latest sample.
    pressure: u64,
    entries: Slab<Call>,
    /// The call of each ticket, by the number of the ticket's place.
    by_ticket: Vec<Option<Place>>,
}

impl Fork for Calls {
    fn fork(&self) -> Self {
        Calls {
            lengths: self.lengths.clone(),
            found: self.found.clone(),
            entries: self.entries.clone(),
            by_ticket: self.by_ticket.clone(),
            ..*self
        }
    }
}

impl Calls {
    /// The deadline of a ticket that waits without one, where slots are [taken
    /// back](Calls::collect_limit): so each ticket can [rely](Gate::rely) on the driver that
    /// advances the gate. It never comes.
    pub const NO_DEADLINE: Instant = Instant::from_nanos(u64::MAX - 1);

    /// Creates the account of a gate that has had no call yet.
    #[must_use]
    pub const fn new(reserve: Reserve) -> Self {
        Calls {
            reserve: ReserveState::new(reserve),
            ended_late: 0,
            measures_holds: false,
            holds: 0,
            held: Sum::of(0),
            lengths: Tally::new(),
            busy: Busy::NONE,
            collect_limit_nanos: u64::MAX,
            found: Vec::new(),
            next_look: Instant::EPOCH,
            taken_back: 0,
            split: 0,
            merged: 0,
            written_off: 0,
            pressure: 0,
            entries: Slab::new(),
            by_ticket: Vec::new(),
        }
    }

    /// Sets whether the time is measured for which each slot is held, from its hand-over. The gate
    /// must [measure](Gate::measure_waits) waits, or these count as held.
    ///
    /// Then also [note](Calls::note_use) the units in use after each input to the gate itself that
    /// can change them.
    #[must_use]
    pub const fn measure_holds(mut self, measured: bool) -> Self {
        self.measures_holds = measured;
        self
    }

    /// Returns whether the time is [measured](Calls::measure_holds) for which each slot is held.
    #[must_use]
    #[inline]
    pub const fn measures_holds(&self) -> bool {
        self.measures_holds
    }

    /// Sets how long a slot that was handed over to a request in the queue may be not collected.
    /// Then [`advance`](Calls::advance) takes it back, and the ticket is rejected as
    /// [`Uncollected`](Reason::Uncollected). The gate must [measure](Gate::measure_waits) waits.
    #[must_use]
    pub const fn collect_limit(mut self, limit: Duration) -> Self {
        self.collect_limit_nanos = nanos(limit);
        self
    }

    /// Returns whether slots that are not collected are [taken back](Calls::collect_limit).
    #[must_use]
    #[inline]
    pub const fn takes_back(&self) -> bool {
        self.collect_limit_nanos < u64::MAX
    }

    /// Returns whether no input may go to the gate without the time, nor to a
    /// [`Word`](crate::plumbing::Word): because holds are [measured](Calls::measure_holds), or a
    /// slot may have to be [taken back](Calls::collect_limit).
    #[must_use]
    #[inline]
    pub fn needs_now<W>(&self, gate: &Gate<W>) -> bool {
        self.measures_holds || self.takes_back() && gate.has_tickets()
    }

    /// Takes back the slots that were not collected in time, and then advances as
    /// [`Gate::advance`] does.
    ///
    /// Where slots are [taken back](Calls::collect_limit), this must also precede every input to
    /// the gate that can hand over slots: a resize, another change of limits, the end of a pause,
    /// and closing.
    pub fn advance<W>(&mut self, gate: &mut Gate<W>, now: Instant) {
        if self.takes_back() {
            // The clock may have run back since the last look, or another one be ahead.
            self.next_look = self.next_look.min(now.saturating_add_nanos(self.collect_limit_nanos));
            self.take_back_found(gate, now);
            if self.next_look <= now {
                self.look(gate, now);
                self.take_back_found(gate, now);
            }
        }
        gate.advance(Some(now));
        self.note_use(gate, now);
    }

    /// Returns the next time at which [`advance`](Calls::advance) should be called, if any. It may
    /// change after any input. While a request waits it comes within the
    /// [limit](Calls::collect_limit), because a slot may be handed over meanwhile.
    #[must_use]
    pub fn next_deadline<W>(&self, gate: &Gate<W>) -> Option<Instant> {
        let found = self.found.last().map(|found| found.due(self.collect_limit_nanos));
        let check = found.into_iter().chain([self.next_look]).min();
        let check = check.filter(|_| self.takes_back() && gate.has_tickets());
        gate.next_deadline().into_iter().chain(check).min()
    }

    fn take_back_found<W>(&mut self, gate: &mut Gate<W>, now: Instant) {
        while let Some(found) = self.found.last().filter(|found| found.due(self.collect_limit_nanos) <= now) {
            self.taken_back += u64::from(gate.take_back(found, now));
            self.found.pop();
        }
    }

    /// Finds the slots that are not collected. All are found at once, so that this happens once in
    /// the [limit](Calls::collect_limit), however many there are.
    #[cold]
    fn look<W>(&mut self, gate: &Gate<W>, now: Instant) {
        self.found = gate.uncollected();
        self.next_look = now.saturating_add_nanos(self.collect_limit_nanos);
    }

    /// Notes the units in use after an input to the gate itself: a resize, another change of
    /// limits, the end of a pause, closing, or an [`advance`](Gate::advance). Needed only where
    /// holds are [measured](Calls::measure_holds); the methods of this account do it themselves.
    #[inline]
    pub fn note_use<W>(&mut self, gate: &Gate<W>, now: Instant) {
        if self.measures_holds {
            gate.note_use(&mut self.busy, now);
        }
    }

    /// Takes back the slots that were handed over at least this long ago and are not collected.
    /// Their tickets are rejected as [`Uncollected`](Reason::Uncollected). Returns their number.
    /// [`advance`](Calls::advance) must follow.
    ///
    /// It needs no [limit](Calls::collect_limit). A slot of a wait that was not
    /// [measured](Gate::measure_waits) is never old enough.
    pub fn take_back<W>(&mut self, gate: &mut Gate<W>, least_age: Duration, now: Instant) -> usize {
        let mut found = gate.uncollected();
        found.retain(|found| found.due(nanos(least_age)) <= now);
        for found in found.iter().rev() {
            self.taken_back += u64::from(gate.take_back(found, now));
        }
        self.note_use(gate, now);
        found.len()
    }

    /// Decides on a request as [`Gate::enter`] does. The wait of a call with a deadline ends early
    /// enough to leave the reserve to its operation.
    ///
    /// # Errors
    ///
    /// As [`Gate::enter`].
    pub fn enter<W>(&mut self, gate: &mut Gate<W>, request: &Request, now: Instant) -> Result<Answer, InvalidArgument> {
        // Asked before the request gets a deadline that never comes.
        let has_deadline = request.has_call_deadline();
        let end = request.end().unwrap_or(Instant::FAR_FUTURE);
        let mut request = *request;
        if self.takes_back() {
            self.advance(gate, now);
            request = request.ending(Calls::NO_DEADLINE);
        }
        let is_recorded = self.measures_holds || has_deadline;
        if !is_recorded || gate.would_reject(&request, now) {
            let answer = gate.enter(&request, Some(now));
            // A request that is rejected can advance the gate all the same.
            self.note_use(gate, now);
            return answer;
        }
        let (own, budget) = (request.own_reserve(), end.nanos_since(now));
        let keep = if has_deadline { self.reserve.keep(own, budget) } else { 0 };
        let by_gate = has_deadline && own.is_none();
        let wait_end = now.saturating_add_nanos(budget - keep);
        let outcome = (!request.is_ignored()).then_some(Outcome::Success);
        let call =
            Call { entered: now, end, waited_nanos: 0, kept_nanos: Call::NOT_KEPT, by_gate, outcome, grant: None };
        let answer = gate.enter(&request.ending(wait_end), Some(now))?;
        self.note_use(gate, now);
        Ok(match answer {
            Answer::Granted(grant) => {
                let recorded = grant.as_recorded();
                let place = self.entries.insert(Call { grant: Some(grant), ..call }, 0);
                Answer::Granted(recorded(place))
            }
            Answer::Queued(ticket) => {
                let is_why = has_deadline && gate.deadline(&ticket) == Some(wait_end);
                let kept_nanos = if is_why { keep } else { Call::NOT_KEPT };
                let call = Call { kept_nanos, ..call };
                let (number, place) = (ticket.number(), self.entries.insert(call, 0));
                if number >= self.by_ticket.len() {
                    self.by_ticket.resize(number + 1, None);
                }
                self.by_ticket[number] = Some(place);
                Answer::Queued(ticket)
            }
            answer => answer,
        })
    }

    /// Redeems a settled ticket as [`Gate::collect`] does.
    pub fn collect<W>(&mut self, gate: &mut Gate<W>, ticket: Ticket) -> Answer {
        let number = ticket.number();
        let Some(place) = self.of_ticket(number) else { return gate.collect(ticket) };
        let waited_nanos = gate.granted_wait(&ticket);
        match gate.collect(ticket) {
            Answer::Granted(grant) => {
                self.by_ticket[number] = None;
                let recorded = grant.as_recorded();
                let call = &mut self.entries[place];
                (call.grant, call.waited_nanos) = (Some(grant), waited_nanos);
                Answer::Granted(recorded(place))
            }
            Answer::Rejected(mut rejection) => {
                let call = self.forget(number, place);
                if rejection.reason == Reason::Expired && call.kept_nanos != Call::NOT_KEPT {
                    let at = call.entered.saturating_add(rejection.waited());
                    self.reserve.note_rejected(&call, at, gate.mark(), gate.totals().admitted);
                    let kept = if call.kept_nanos > 0 { Coarse::new(call.kept_nanos, false) } else { Coarse::DEADLINE };
                    rejection.kept = kept.flagged(rejection.is_paused());
                }
                Answer::Rejected(rejection)
            }
            answer => answer,
        }
    }

    /// Withdraws a ticket as [`Gate::cancel`] does.
    ///
    /// # Errors
    ///
    /// As [`Gate::cancel`]; without `now` also where holds are
    /// [measured](Calls::measure_holds).
    pub fn cancel<W>(&mut self, gate: &mut Gate<W>, ticket: Ticket, now: Option<Instant>) -> Result<Option<W>, Ticket> {
        if self.measures_holds && now.is_none() {
            return Err(ticket);
        }
        let number = ticket.number();
        let cancelled = gate.cancel(ticket, now)?;
        if let Some(now) = now {
            self.note_use(gate, now);
        }
        if let Some(place) = self.of_ticket(number) {
            self.forget(number, place);
        }
        Ok(cancelled)
    }

    fn of_ticket(&self, number: usize) -> Option<Place> {
        *self.by_ticket.get(number)?
    }

    fn forget(&mut self, number: usize, place: Place) -> Call {
        self.by_ticket[number] = None;
        self.entries.remove(place)
    }

    /// Takes the end of an operation into account. Returns the grant to
    /// [release](Gate::release).
    pub fn end(&mut self, grant: Grant, now: Instant) -> Grant {
        let grant = self.finish(grant, now);
        self.give_back(&grant, now);
        grant
    }

    /// Takes the end of an operation into account. Its units may stay in use.
    fn finish(&mut self, grant: Grant, now: Instant) -> Grant {
        let Some(place) = grant.place() else { return grant };
        if self.measures_holds {
            let hold_nanos = self.entries[place].hold_nanos(now);
            self.holds += 1;
            self.held.add(hold_nanos.into());
            self.lengths.count(hold_nanos);
        }
        if self.reserve.learn(&self.entries[place], now) {
            self.ended_late += 1;
        }
        self.vacate(place)
    }

    /// Returns the grant to [abandon](Gate::abandon), of a call that never begins its operation.
    pub fn abandon(&mut self, grant: Grant, now: Instant) -> Grant {
        let Some(place) = grant.place() else { return grant };
        let grant = self.vacate(place);
        self.give_back(&grant, now);
        grant
    }

    fn vacate(&mut self, place: Place) -> Grant {
        self.entries.vacate(place, |call| call.grant.take()).unwrap_or_else(|| invalid_place())
    }

    /// Notes that the units of a grant are about to be given back.
    #[inline]
    fn give_back(&mut self, grant: &Grant, now: Instant) {
        if self.measures_holds {
            self.busy.give_back(grant.units(), now);
        }
    }

    /// Splits `units` off a grant, for another operation. Returns the rest of it, and the grant
    /// of these units.
    ///
    /// The lateness of the call counts once, at the end of the rest of the grant; a measured
    /// hold counts for both.
    ///
    /// # Errors
    ///
    /// If one of both would have no unit; the grant is returned.
    pub fn split<W>(&mut self, gate: &mut Gate<W>, grant: Grant, units: usize) -> Result<(Grant, Grant), Grant> {
        let Some(place) = grant.place() else {
            let parts = gate.split(grant, units)?;
            self.split = self.split.wrapping_add(1);
            return Ok(parts);
        };
        let call = &mut self.entries[place];
        let whole = call.grant.take().unwrap_or_else(|| invalid_place());
        let part = match gate.split(whole, units) {
            Ok((rest, part)) => {
                self.split = self.split.wrapping_add(1);
                call.grant = Some(rest);
                part
            }
            Err(whole) => {
                call.grant = Some(whole);
                return Err(grant);
            }
        };
        if !self.measures_holds {
            return Ok((grant, part));
        }
        let (entered, waited_nanos) = (call.entered, call.waited_nanos);
        let recorded = part.as_recorded();
        let end = Instant::FAR_FUTURE;
        let (kept_nanos, by_gate, outcome) = (Call::NOT_KEPT, false, call.outcome);
        let call = Call { entered, end, waited_nanos, kept_nanos, by_gate, outcome, grant: Some(part) };
        Ok((grant, recorded(self.entries.insert(call, 0))))
    }

    /// Merges a grant into another, which then holds the units of both, and keeps its wait. The
    /// call of the merged grant ends at `now`, without giving its units back.
    #[must_use = "a forgotten grant keeps its units for good"]
    pub fn merge<W>(&mut self, gate: &mut Gate<W>, grant: Grant, merged: Grant, now: Instant) -> Grant {
        let merged = self.finish(merged, now);
        self.merged = self.merged.wrapping_add(1);
        let Some(place) = grant.place() else { return gate.merge(grant, merged) };
        let call = &mut self.entries[place];
        let own = call.grant.take().unwrap_or_else(|| invalid_place());
        call.grant = Some(gate.merge(own, merged));
        grant
    }

    /// Ends an operation at `now` without giving its units back: they stay in use for good, and the
    /// gate can [drain](Gate::is_drained) nevertheless. From then on, no
    /// [`Word`](crate::plumbing::Word) offers units.
    pub fn write_off<W>(&mut self, gate: &mut Gate<W>, grant: Grant, now: Instant) {
        let grant = self.finish(grant, now);
        self.written_off += gate.write_off(grant) as usize;
    }

    /// Returns the number of units that the grant holds.
    #[must_use]
    pub fn cost(&self, grant: &Grant) -> usize {
        let grant = grant.place().map_or(Some(grant), |place| self.entries[place].grant.as_ref());
        grant.and_then(Grant::cost).unwrap_or(0)
    }

    /// Replaces the contents of `into` by the measured holds that have ended, as many as a snapshot
    /// [counts](Snapshot::holds). Allocates nothing.
    #[cfg(feature = "histogram")]
    pub fn read_holds(&self, into: &mut Histogram) {
        self.lengths.read(into);
    }

    #[cfg(feature = "histogram")]
    pub(crate) fn share_holds(&mut self, counts: SharedCounts) {
        self.lengths.share(counts);
    }

    /// Adds to a gate's snapshot the figures that it does not know: the reserve, the holds, and how
    /// many calls ended late or did not collect their slot.
    pub fn complete(&self, snapshot: &mut Snapshot) {
        snapshot.holds = self.holds;
        snapshot.held = self.held;
        if self.measures_holds {
            snapshot.busy = self.busy.at(snapshot.at);
        }
        snapshot.taken_back = self.taken_back;
        (snapshot.split, snapshot.merged, snapshot.written_off) = (self.split, self.merged, self.written_off);
        let finished = &mut snapshot.totals.finished;
        *finished = finished.wrapping_add(self.split).wrapping_sub(self.merged);
        snapshot.reserve_nanos = self.reserve.nanos();
        snapshot.ended_late = self.ended_late;
    }
}
