//! Renewing all of a process, and repairing what was lost.

use std::sync::Arc;
use std::time::Duration;

use super::Step;
use crate::{CallId, Outcome, OwnerId, ServerTime, Ticket, Token};

impl Step<'_> {
    pub(super) fn renew_session(
        &mut self,
        owner: OwnerId,
        generation: u64,
        claim: Duration,
        info: &Arc<str>,
    ) -> Result<(), Outcome> {
        if self.data.infos.get(&owner).is_some_and(|(latest, _)| *latest > generation) {
            return Err(Outcome::OldGeneration);
        }
        self.data.owners.set(owner, self.now.after(claim));
        self.data.infos.insert(owner, (generation, info.clone()));
        Ok(())
    }

    pub(super) fn beat(
        &mut self,
        leases: &[CallId],
        waiters: &[(CallId, Ticket)],
        gone: &[CallId],
        fresh: ServerTime,
    ) -> Outcome {
        let lost = leases.iter().copied().filter(|id| !self.renew(*id, fresh)).collect();
        let granted = waiters.iter().filter_map(|(id, ticket)| Some((*id, self.restore(*id, *ticket, fresh)?)));
        let granted = granted.collect();
        self.drop_all(gone);
        self.expire_and_pump();
        Outcome::Beaten {
            first_expiry: self.first_expiry(),
            owners: self.data.owners.len() as u64,
            lost,
            granted,
            quarantine: self.m.quarantine,
        }
    }

    /// Renews a lease, or adopts it where it is missing and has room, or may have been lost with
    /// other data. Returns whether it is there.
    fn renew(&mut self, id: CallId, fresh: ServerTime) -> bool {
        if self.data.leases.get(&id).is_some() {
            self.data.leases.set(id, fresh);
            return true;
        }
        let is_adopted = self.now < self.m.quarantine || self.has_room(id.cost);
        if is_adopted {
            // The server may know it as a waiter.
            self.data.queue.remove(&id);
            self.hold(id, fresh);
        }
        is_adopted
    }

    /// Puts a waiter back into the queue where it is missing. Returns its token if it has a lease.
    fn restore(&mut self, id: CallId, ticket: Ticket, fresh: ServerTime) -> Option<Token> {
        if self.data.leases.get(&id).is_some() {
            self.data.leases.set(id, fresh);
            return Some(self.token());
        }
        if self.data.queue.get(&id).is_none() {
            self.data.queue.set(id, ticket);
        }
        None
    }
}
