//! What handles and permits read and await.

use std::task::{Poll, Waker};
use std::time::Duration;

use super::{State, park};
use crate::{CallId, Conflict, Occupancy, Totals};

impl State {
    /// Returns what came of the first attempt to open the bulkhead on the store.
    pub(crate) fn poll_opened(&mut self, waker: &mut Option<Waker>) -> Poll<Result<(), Option<Conflict>>> {
        if let Some(result) = self.opened.result {
            return Poll::Ready(result);
        }
        park(&mut self.opened.wakers, waker);
        Poll::Pending
    }

    pub(crate) fn is_valid(&self, now: Duration, lease: CallId) -> bool {
        let is_known = self.leases.get(&lease).is_some_and(|lease| !lease.is_lost);
        is_known && self.owner.token(now, lease).is_some()
    }

    /// Completes when the lease is no longer valid.
    pub(crate) fn poll_lost(&mut self, lease: CallId, waker: &mut Option<Waker>) -> Poll<()> {
        match self.leases.get_mut(&lease) {
            Some(lease) if !lease.is_lost => {
                park(&mut lease.wakers, waker);
                Poll::Pending
            }
            _ => Poll::Ready(()),
        }
    }

    /// Completes when the store has taken the lease back, with `true`, or when it is unknown
    /// whether it has.
    pub(crate) fn poll_released(&mut self, lease: CallId, waker: &mut Option<Waker>) -> Poll<bool> {
        if !self.owner.is_up() || self.owner.is_gone(lease) {
            return Poll::Ready(false);
        }
        if !self.owner.is_giving_back(lease) {
            return Poll::Ready(true);
        }
        let is_parked = |waker: &Waker| self.releases.iter().any(|(id, known)| *id == lease && known.will_wake(waker));
        if let Some(waker) = waker.take_if(|waker| !is_parked(waker)) {
            self.releases.push((lease, waker));
        }
        Poll::Pending
    }

    /// Wakes those whose permit is back, or may be.
    pub(super) fn wake_releases(&mut self) {
        if self.releases.is_empty() {
            return;
        }
        let owner = &self.owner;
        let waits = |id| owner.is_up() && owner.is_giving_back(id) && !owner.is_gone(id);
        let (waiting, done): (Vec<_>, Vec<_>) = self.releases.drain(..).partition(|(id, _)| waits(*id));
        self.releases = waiting;
        self.effects.wakers.extend(done.into_iter().map(|(_, waker)| waker));
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.owner.is_up() && !self.is_over()
    }

    pub(crate) fn numbers(&self) -> (u64, u64) {
        self.owner.numbers()
    }

    pub(crate) fn number_after(&mut self, numbers: (u64, u64)) {
        self.owner.number_after(numbers);
    }

    pub(crate) fn held(&self) -> usize {
        self.leases.len() - self.idle.len()
    }

    pub(crate) fn waiting(&self) -> usize {
        self.asks.len()
    }

    pub(crate) fn occupancy(&self) -> Occupancy {
        self.occupancy
    }

    pub(crate) fn processes(&self) -> u64 {
        self.processes
    }

    pub(crate) fn totals(&self) -> Totals {
        self.totals
    }
}
