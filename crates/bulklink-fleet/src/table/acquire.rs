//! Asking for a lease, and giving it back.

use super::{Step, Table};
use crate::{CallId, Outcome, Terms};

impl Table {
    /// Releases one lease of one unit that no call waits for, without looking at the time. Returns
    /// whether that was all.
    pub(super) fn release_fast(&mut self, ids: &[CallId]) -> bool {
        let is_plain = |id: &CallId| id.cost == 1;
        let &[id] = ids else { return false };
        is_plain(&id) && self.data.leases.remove(&id) && self.data.queue.is_empty()
    }
}

impl Step<'_> {
    pub(super) fn acquire(
        &mut self,
        id: CallId,
        wait: bool,
        queue: u64,
        terms: Terms,
        give_back: &[CallId],
    ) -> Outcome {
        let fresh = self.now.after(terms.ttl);
        // The fast path: leases that have expired may stay.
        let is_short = match give_back {
            [] => true,
            [old] => old.cost == 1 && self.now >= self.m.quarantine,
            _ => false,
        };
        if let ([old], true) = (give_back, is_short) {
            self.data.leases.remove(old);
        }
        if is_short && self.is_free(id.cost) && self.data.leases.get(&id).is_none() {
            self.hold(id, fresh);
            return Outcome::Granted { token: self.token() };
        }
        self.drop_all(give_back);
        // A lease that is there belongs to a repeated command.
        if self.data.leases.get(&id).is_some() {
            self.data.leases.set(id, fresh);
            return Outcome::Granted { token: self.token() };
        }
        let waits = self.data.queue.get(&id).is_some();
        self.expire_and_pump();
        // The pump may have granted this very call.
        if waits && self.data.leases.get(&id).is_some() {
            self.data.leases.set(id, fresh);
            return Outcome::Granted { token: self.token() };
        }
        if id.cost > self.m.limit {
            return Outcome::TooLarge;
        }
        if self.is_free(id.cost) {
            self.hold(id, fresh);
            return Outcome::Granted { token: self.token() };
        }
        self.enqueue(id, wait, queue, terms)
    }

    /// Whether a call is admitted immediately.
    fn is_free(&self, cost: u64) -> bool {
        self.now >= self.m.quarantine && self.data.queue.is_empty() && self.has_room(cost)
    }

    fn enqueue(&mut self, id: CallId, wait: bool, queue: u64, terms: Terms) -> Outcome {
        let first_expiry = self.first_expiry();
        let ticket = match self.data.queue.get(&id) {
            Some(ticket) => ticket,
            None if !wait && self.now < self.m.quarantine => return Outcome::Recovering { until: self.m.quarantine },
            None if !wait => return Outcome::Saturated { first_expiry },
            None if self.data.queue.len() as u64 >= queue => return Outcome::QueueFull { first_expiry },
            None => {
                self.m.ticket = (u64::from(self.m.ticket) + 1).into();
                self.data.queue.set(id, self.m.ticket);
                let session = self.data.owners.get(&id.owner).unwrap_or_default();
                self.data.owners.set(id.owner, session.max(self.now.after(terms.claim)));
                self.m.ticket
            }
        };
        Outcome::Queued { ticket, first_expiry, position: self.data.queue.rank(&id) as u64 }
    }
}
