//! What moves leases and waiters: dropping what is over, and granting from the head of the queue.

use super::{Data, Step};
use crate::{CallId, Notice, Outcome, ServerTime, Token};

impl Data {
    /// Removes ids where there are no settings, and so no account.
    pub(super) fn remove_all(&mut self, ids: &[CallId]) {
        for id in ids {
            self.leases.remove(id);
            self.queue.remove(id);
        }
    }
}

impl Step<'_> {
    /// Returns the units in use.
    pub(super) fn used(&self) -> u64 {
        self.data.leases.len() as u64 + self.m.extra
    }

    pub(super) fn has_room(&self, cost: u64) -> bool {
        self.used().saturating_add(cost) <= self.m.limit
    }

    /// Removes a lease or a waiter.
    pub(super) fn drop_id(&mut self, id: &CallId) {
        if self.data.leases.remove(id) {
            self.m.extra -= id.cost - 1;
        } else {
            self.data.queue.remove(id);
        }
    }

    pub(super) fn drop_all(&mut self, ids: &[CallId]) {
        for id in ids {
            self.drop_id(id);
        }
    }

    /// Adds a lease that is not there.
    pub(super) fn hold(&mut self, id: CallId, until: ServerTime) {
        self.data.leases.set(id, until);
        self.m.extra += id.cost - 1;
    }

    /// Hands out the first token of a block.
    pub(super) fn token(&mut self) -> Token {
        let last = u64::from(self.m.token) + self.m.terms.block;
        self.m.token = last.into();
        Token::from(last - self.m.terms.block + 1)
    }

    /// Returns when the first lease expires, and zero if there is none.
    pub(super) fn first_expiry(&self) -> ServerTime {
        self.data.leases.first().map(|(until, _)| until).unwrap_or_default()
    }

    pub(super) fn expire_and_pump(&mut self) {
        self.expire();
        self.pump();
    }

    /// Drops the leases that have expired.
    pub(super) fn expire(&mut self) {
        let late: Vec<_> = self.data.leases.up_to(self.now).take(self.cuts.page).collect();
        self.drop_all(&late);
        self.more |= late.len() == self.cuts.page;
    }

    /// Hands free units to the head of the queue.
    pub(super) fn pump(&mut self) {
        if self.now < self.m.quarantine {
            return;
        }
        for _ in 0..self.cuts.grants {
            let Some((_, id)) = self.data.queue.first().filter(|_| self.used() < self.m.limit) else { return };
            if id.cost > self.m.limit {
                self.data.queue.remove(&id);
                (self.publish)(id.owner, Notice::TooLarge { id });
            } else if self.has_room(id.cost) {
                self.data.queue.remove(&id);
                self.grant(id);
            } else {
                return;
            }
        }
        self.more = true;
    }

    /// Grants a waiter that has left the queue. It returns by a beat if no link takes the notice.
    fn grant(&mut self, id: CallId) {
        let is_alive = self.data.owners.get(&id.owner).is_some_and(|until| until > self.now);
        if is_alive {
            let notice = Notice::Granted { id, token: self.token(), epoch: self.m.epoch };
            if (self.publish)(id.owner, notice) {
                self.hold(id, self.now.after(self.m.terms.claim));
            }
        }
    }

    pub(super) fn reap(&mut self, full: bool, offset: u64) -> Outcome {
        let before = self.used();
        self.expire();
        let freed = before - self.used();
        let dead: Vec<_> = self.data.owners.up_to(self.now).take(self.cuts.page).collect();
        for owner in dead {
            self.data.owners.remove(&owner);
            self.data.infos.remove(&owner);
        }
        let (seen, dropped) = if full { self.drop_dead_waiters(offset) } else { (0, 0) };
        self.pump();
        Outcome::Reaped { freed, dropped, next: offset + seen - dropped }
    }

    /// Returns how many waiters it has seen and dropped.
    fn drop_dead_waiters(&mut self, offset: u64) -> (u64, u64) {
        let page = self.data.queue.page(offset, self.cuts.page as u64);
        let mut dropped = 0;
        for (id, _) in &page {
            let is_alive = self.data.owners.get(&id.owner).is_some_and(|until| until > self.now);
            if !is_alive {
                self.data.queue.remove(id);
                dropped += 1;
            }
        }
        self.more |= page.len() == self.cuts.page;
        (page.len() as u64, dropped)
    }
}
