//! The calls with a deadline: their times, and what a gate learns from them.

use alloc::vec::Vec;

use crate::reserve::{Coarse, ReserveState};
use crate::slab::{Place, Slab, invalid_place};
use crate::{Answer, Gate, Grant, Instant, InvalidArgument, Reason, Request, Reserve, Snapshot, Ticket};

/// The calls of one gate that have a [deadline](Request::deadline), beside that gate.
///
/// It turns the two instants of such a call, the end of its wait and the end of the call, into
/// inputs of the gate. A gate without it treats the deadline of a call as one of its admission.
///
/// Once a gate has one, [`enter`](Calls::enter), [`collect`](Calls::collect) and
/// [`cancel`](Calls::cancel) replace the gate's methods; they treat other requests as those do. A
/// grant goes through [`end`](Calls::end) or [`abandon`](Calls::abandon) on its way back to the
/// gate.
///
/// ```
/// use bulklink_core::{Answer, Calls, Gate, Instant, Limits, Request, Reserve};
///
/// let mut gate: Gate<()> = Gate::new(Limits::new(1))?;
/// let mut calls = Calls::new(Reserve::ByLateness);
/// let request = Request::new().deadline(Instant::from_nanos(100));
/// let answer = calls.enter(&mut gate, &request, Instant::from_nanos(10))?;
/// let Answer::Granted(grant) = answer else { panic!("not granted") };
///
/// gate.release(calls.end(grant, Instant::from_nanos(101)));
/// let mut snapshot = gate.snapshot();
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
    entries: Slab<Call>,
    /// The call of each ticket, by the number of the ticket's place.
    by_ticket: Vec<Option<Place>>,
}

/// A call with a deadline.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) entered: Instant,
    /// The latest end of its wait.
    pub(crate) wait_end: Instant,
    /// When the whole call is to be over: a call that ends then or later is late.
    pub(crate) end: Instant,
    pub(crate) waited_nanos: u64,
    /// What was kept for the operation, if that is why its wait ends.
    pub(crate) kept_nanos: u64,
    /// Whether the gate's reserve applied, and not the request's own.
    pub(crate) by_gate: bool,
    /// The gate's grant, once there is one.
    pub(crate) grant: Option<Grant>,
}

impl Calls {
    /// Creates the account of a gate that has had no call with a deadline yet.
    #[must_use]
    pub const fn new(reserve: Reserve) -> Self {
        let reserve = ReserveState::new(reserve);
        Calls { reserve, ended_late: 0, entries: Slab::new(0), by_ticket: Vec::new() }
    }

    /// Decides on a request as [`Gate::enter`] does. The wait of a call with a deadline ends early
    /// enough to leave the reserve to its operation.
    ///
    /// # Errors
    ///
    /// As [`Gate::enter`].
    pub fn enter<W>(&mut self, gate: &mut Gate<W>, request: &Request, now: Instant) -> Result<Answer, InvalidArgument> {
        let Some(end) = request.end().filter(|_| !gate.would_reject(request, now)) else {
            return gate.enter(request, Some(now));
        };
        let (own, budget) = (request.own_reserve(), end.nanos_since(now));
        let keep = self.reserve.keep(own, budget);
        let limit = budget - keep;
        let (wait_end, by_gate) = (now.saturating_add_nanos(limit), own.is_none());
        let call = Call { entered: now, wait_end, end, waited_nanos: 0, kept_nanos: 0, by_gate, grant: None };
        let answer = gate.enter(&request.limited(limit), Some(now))?;
        if own.is_none() && !matches!(answer, Answer::Rejected(_)) {
            self.reserve.begin(budget);
        }
        Ok(match answer {
            Answer::Granted(grant) => Answer::Granted(self.record(Call { grant: Some(grant), ..call })),
            Answer::Queued(ticket) => {
                let latest = gate.deadline(&ticket).unwrap_or(wait_end);
                let kept_nanos = if latest == wait_end { keep } else { 0 };
                let call = Call { wait_end: latest, kept_nanos, ..call };
                let (number, place) = (ticket.number(), self.entries.insert(call));
                if number >= self.by_ticket.len() {
                    self.by_ticket.resize(number + 1, None);
                }
                self.by_ticket[number] = Some(place);
                Answer::Queued(ticket)
            }
            answer => answer,
        })
    }

    fn record(&mut self, call: Call) -> Grant {
        Grant::recorded(self.entries.insert(call))
    }

    /// Redeems a settled ticket as [`Gate::collect`] does.
    pub fn collect<W>(&mut self, gate: &mut Gate<W>, ticket: Ticket) -> Answer {
        let number = ticket.number();
        let Some(place) = self.of_ticket(number) else { return gate.collect(ticket) };
        let waited_nanos = gate.granted_wait(&ticket);
        match gate.collect(ticket) {
            Answer::Granted(grant) => {
                self.by_ticket[number] = None;
                let call = &mut self.entries[place];
                (call.grant, call.waited_nanos) = (Some(grant), waited_nanos);
                Answer::Granted(Grant::recorded(place))
            }
            Answer::Rejected(mut rejection) => {
                let call = self.forget(number, place);
                if rejection.reason == Reason::Expired && call.kept_nanos > 0 {
                    rejection.kept = Coarse::new(call.kept_nanos, rejection.is_paused());
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
    /// As [`Gate::cancel`].
    pub fn cancel<W>(&mut self, gate: &mut Gate<W>, ticket: Ticket, now: Option<Instant>) -> Result<Option<W>, Ticket> {
        let number = ticket.number();
        let cancelled = gate.cancel(ticket, now)?;
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
        let Some(place) = grant.place() else { return grant };
        let call = self.entries.remove(place);
        if self.reserve.learn(&call, now) {
            self.ended_late += 1;
        }
        call.grant.unwrap_or_else(|| invalid_place())
    }

    /// Returns the grant to [abandon](Gate::abandon), of a call whose operation never begins.
    pub fn abandon(&mut self, grant: Grant) -> Grant {
        let Some(place) = grant.place() else { return grant };
        self.entries.remove(place).grant.unwrap_or_else(|| invalid_place())
    }

    /// Returns the number of units that the grant holds.
    #[must_use]
    pub fn cost(&self, grant: &Grant) -> usize {
        let grant = grant.place().map_or(Some(grant), |place| self.entries[place].grant.as_ref());
        grant.and_then(Grant::cost).unwrap_or(0)
    }

    /// Adds what a gate does not know to its snapshot: the reserve, and how many calls ended late.
    pub fn complete(&self, snapshot: &mut Snapshot) {
        snapshot.reserve_nanos = self.reserve.nanos();
        snapshot.ended_late = self.ended_late;
    }
}
