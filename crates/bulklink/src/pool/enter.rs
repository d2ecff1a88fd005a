//! How a call enters a bulkhead of a pool.

use core::num::NonZeroU64;
use core::task::Waker;

use bulklink_core::plumbing::Joining;
use bulklink_core::pool::{Bound, Head, LineId, Prepared};
use bulklink_core::{Grant, Instant, InvalidArgument, Request, Ticket};

use super::members::Reach;
use super::{Outputs, PoolState, SharedPool};
use crate::Rejection;
use crate::gate::enter::NotGranted;
use crate::gate::outputs::deliver_all;
use crate::gate::shared::Shared;

/// The way of a call into its gate.
enum Way {
    /// The gate decides, with the units that are lent to it. For lack of room, this is the limit.
    Gate { lent: u32, bound: Bound },
    /// It may not wait: the pool has no room for it.
    NoRoom(Bound),
    /// Its cost is more than the whole capacity.
    Invalid(InvalidArgument),
}

impl Shared {
    /// Enters as [`enter_gate`](Shared::enter_gate) does, by the pool.
    #[cold]
    #[inline(never)]
    pub(crate) fn enter_pooled(
        &self,
        request: &Request,
        now: Instant,
        home: Option<NonZeroU64>,
        joining: &mut Joining<Waker>,
        ticket: &mut Option<Ticket>,
        not_granted: &mut NotGranted,
    ) -> Option<Grant> {
        let mut reach = Reach::new();
        let mut enter = |way: Way, pool: Option<&SharedPool>| {
            self.member(|state| {
                let (request, bound) = match way {
                    Way::Invalid(invalid) => {
                        let invalid = self.invalid(state.gate.occupancy(), invalid, request);
                        *not_granted = NotGranted::Rejected(invalid);
                        return (None, Outputs::NONE, state.demand());
                    }
                    Way::NoRoom(bound) => (request.now(), bound),
                    Way::Gate { lent, bound } => {
                        if lent > 0 {
                            state.gate.lend(lent);
                        }
                        (*request, bound)
                    }
                };
                joining.driver = state.drivers.driver(home);
                let entered = self.enter_any(state, &request, Some(now), joining, ticket, not_granted);
                if let (NotGranted::Rejected(rejection), Some(pool)) = (&mut *not_granted, pool) {
                    rejection.set_bound(bound, pool);
                }
                (entered.unwrap_or(None), Outputs::of(state), state.demand())
            })
        };
        let (granted, outputs, _) = match self.pool() {
            None => enter(Way::NoRoom(Bound::Key), None),
            Some(pool) => pool.state.with(|state| {
                // It has left: no call is admitted.
                let Some(line) = state.members.line_of(self) else { return enter(Way::NoRoom(Bound::Key), Some(pool)) };
                let now = state.at(Some(now));
                state.pool.begin(line);
                let way = self.way(state, line, request, &mut reach, now);
                let entered = enter(way, Some(pool));
                state.finish(self, line, &entered.2, &mut reach, now);
                entered
            }),
        };
        self.deliver_pooled(outputs, reach);
        granted
    }

    /// Asks the pool for units, or for a place in the queue.
    fn way(&self, state: &mut PoolState, line: LineId, request: &Request, reach: &mut Reach, now: Instant) -> Way {
        let cost = request.units();
        let (demand, would_reject, may_run, has_place) = self.member(|state| {
            state.advance(Some(now));
            let gate = &state.gate;
            (state.demand(), gate.would_reject(request, now), gate.may_run(cost), gate.has_place_for(cost))
        });
        if would_reject {
            // Without lent units.
            return Way::Gate { lent: 0, bound: Bound::Key };
        }
        if let Err(invalid) = state.pool.check_cost(cost) {
            return Way::Invalid(invalid);
        }
        let call = Head { cost, may_run };
        let PoolState { pool, members, .. } = state;
        let wants_place = request.wants_place() && has_place;
        let prepared = pool.prepare(&mut members.lines(reach), line, &demand, call, wants_place, now);
        match prepared {
            Ok(Prepared::Lent) => Way::Gate { lent: demand.in_use + cost, bound: Bound::Key },
            Ok(Prepared::Queues) => Way::Gate { lent: 0, bound: Bound::Key },
            // It does not wait by the pool: it expires, or its own room is full. If it has none,
            // the call is rejected because no units are lent to it.
            Err(bound) if request.may_queue() && !wants_place => {
                Way::Gate { lent: 0, bound: if demand.waiting > 0 { Bound::Key } else { bound } }
            }
            // It may wait for a higher ceiling of its bulkhead.
            Err(Bound::Key) if request.fetches() && !wants_place => Way::Gate { lent: 0, bound: Bound::Key },
            Err(bound) => Way::NoRoom(bound),
        }
    }
}

impl Shared {
    /// Sets the limit that holds up the calls of this bulkhead, of a call whose wait has expired.
    /// Under a ceiling of the bulkhead itself, that is named already.
    #[cold]
    #[inline(never)]
    pub(crate) fn set_bound_of_wait(&self, rejection: &mut Rejection) {
        let Some(pool) = self.pool() else { return };
        if rejection.reason() != crate::Reason::Expired || rejection.restriction().is_some() {
            return;
        }
        let (cost, mut reach) = (u32::try_from(rejection.cost()).unwrap_or(u32::MAX), Reach::new());
        let may_run = self.with_pooled(None, &mut reach, |state| state.gate.may_run(cost));
        let bound = pool.state.with(|state| {
            let line = state.members.line_of(self)?;
            let call = Head { cost, may_run };
            Some(state.with_lines(&mut reach, |pool, lines| pool.keeps_waiting(lines, line, call)))
        });
        deliver_all(reach);
        if let Some(bound) = bound {
            rejection.set_identity(pool.identity(bound));
        }
    }
}

impl Rejection {
    /// Sets the limit of the shared capacity that has rejected the call for lack of room.
    fn set_bound(&mut self, bound: Bound, pool: &SharedPool) {
        // Under a ceiling, the identity is that with its restriction.
        let is_restricted = bound == Bound::Key && self.restriction().is_some();
        if self.reason() == crate::Reason::Saturated && !is_restricted {
            self.set_identity(pool.identity(bound));
        }
    }
}
