//! Reading the state.

use super::Table;
use crate::{Answer, Outcome, OwnerId, ServerTime, SessionStatus, Status};

impl Table {
    pub(super) fn status(&self, now: ServerTime, offset: u64, count: u64) -> Answer {
        let session = |(owner, until): (OwnerId, ServerTime)| {
            let (generation, info) = self.data.infos.get(&owner).cloned().unwrap_or_else(|| (0, "".into()));
            SessionStatus { owner, until, generation, info }
        };
        let status = Status {
            now,
            settings: self.settings,
            leases: self.data.leases.len() as u64,
            waiting: self.data.queue.len() as u64,
            expired: self.data.leases.up_to(now).count() as u64,
            lease_page: self.data.leases.page(offset, count),
            waiter_page: self.data.queue.page(offset, count),
            session_page: self.data.owners.page(offset, count).into_iter().map(session).collect(),
        };
        Answer { outcome: Outcome::Status(Box::new(status)), head: None }
    }
}
