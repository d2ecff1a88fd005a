//! Reading the state.

use std::collections::BTreeSet;

use super::{Cuts, Data, Table};
use crate::{Answer, Outcome, OwnerId, ServerTime, SessionStatus, Status};

impl Table {
    /// Makes the bulkhead whose whole state this is, as a [`Command::Status`](crate::Command) of
    /// all pages has read it: for stores that keep the state, and leave all steps to this machine.
    ///
    /// Returns `None` if no bulkhead can have this state: an id is there twice, or the units do not
    /// add up. Pages that lack something make a bulkhead that lacks it.
    ///
    /// ```
    /// use bulklink_fleet::{Command, Outcome, Table};
    ///
    /// let mut table = Table::default();
    /// let all = Command::Status { offset: 0, count: u64::MAX };
    /// let answer = table.apply(7.into(), &all, &mut |_, _| true);
    /// let Outcome::Status(state) = answer.outcome else { unreachable!() };
    /// assert_eq!(Table::restore(&state), Some(table));
    /// ```
    pub fn restore(state: &Status) -> Option<Self> {
        let calls = state.lease_page.iter().map(|(id, _)| id).chain(state.waiter_page.iter().map(|(id, _)| id));
        let (mut seen, mut sum) = (BTreeSet::new(), 0_u64);
        for id in calls {
            sum = sum.checked_add(id.cost.checked_sub(1)?)?;
            if !seen.insert(id) {
                return None;
            }
        }
        let extra: u64 = state.lease_page.iter().map(|(id, _)| id.cost - 1).sum();
        if state.settings.is_some_and(|settings| settings.extra != extra) {
            return None;
        }
        let mut data = Data::default();
        state.lease_page.iter().for_each(|(id, until)| data.leases.set(*id, *until));
        state.waiter_page.iter().for_each(|(id, ticket)| data.queue.set(*id, *ticket));
        for SessionStatus { owner, until, generation, info } in &state.session_page {
            data.owners.set(*owner, *until);
            // A session that was made by its first waiter has said nothing yet.
            if (*generation, &**info) != (0, "") {
                data.infos.insert(*owner, (*generation, info.clone()));
            }
        }
        (data.owners.len() == state.session_page.len()).then_some(Table {
            data,
            settings: state.settings,
            cuts: Cuts::default(),
        })
    }

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
