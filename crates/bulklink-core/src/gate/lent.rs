//! The part of a gate that is lent its units by a [pool](crate::pool): it admits calls with these
//! and with no others.

#![cfg(feature = "restriction")]

use core::num::NonZeroU32;

use super::Gate;
use crate::pool::{Demand, Head};
use crate::{EventKind, Instant, Reason};

impl<W> Gate<W> {
    /// Has the gate admit calls only while no more than these units are in use, whatever its own
    /// limits are: so many are lent to it, by a [`Pool`](crate::pool::Pool). A gate without a
    /// pool is lent none, and none is asked of it.
    ///
    /// No call is admitted by this: that is up to [`admit_first`](Gate::admit_first).
    pub fn lend(&mut self, units: u32) {
        if self.lent() == Some(units) {
            return;
        }
        self.controlled_mut().lent = Some(units);
        self.bind();
    }

    /// Returns whether the gate itself would admit a call of this cost, if it were lent the units.
    #[must_use]
    pub fn may_run(&self, cost: u32) -> bool {
        let bound = self.bound();
        let is_alone = self.in_use == 0 && bound > 0 && self.kept().is_some_and(|kept| cost as usize <= kept.alone);
        !self.closed && (self.in_use.saturating_add(cost) <= bound || is_alone && cost <= self.capacity)
    }

    /// Returns whether the gate's own waiting room has a place for a call of this cost.
    #[must_use]
    pub fn has_place_for(&self, cost: u32) -> bool {
        self.queue.len() < self.waiting_room
            && NonZeroU32::new(cost).is_some_and(|cost| self.has_waiting_units_for(cost))
    }

    /// Returns the demand of the gate's line.
    #[must_use]
    pub fn demand(&self) -> Demand {
        let head = self.queue.first().map(|(_, first)| {
            let cost = first.cost.get();
            Head { cost, may_run: self.may_run(cost) }
        });
        Demand { in_use: self.in_use, waiting: self.queue.len(), head }
    }

    /// Admits the first waiter at `now`, after those that are due have expired, if one of this cost
    /// is first then and the gate's own limits allow it. The units are lent for it. Returns whether
    /// it was admitted.
    pub fn admit_first(&mut self, cost: u32, now: Instant) -> bool {
        self.lend(0);
        self.advance_to(now);
        let is_first = self.queue.first().is_some_and(|(_, first)| first.cost.get() == cost);
        if !is_first || !self.may_run(cost) {
            return false;
        }
        self.lend(self.in_use + cost);
        self.advance_to(now);
        self.lend(0);
        true
    }

    /// Rejects the newest waiter as [displaced](Reason::Displaced), because a call of another line
    /// needs its place. Returns whether there was one.
    pub fn displace_last(&mut self, now: Instant) -> bool {
        let Some(place) = self.queue.last() else { return false };
        self.mark = now;
        self.totals.displaced += 1;
        self.reject_waiter(place, Reason::Displaced, EventKind::Displaced);
        true
    }
}
