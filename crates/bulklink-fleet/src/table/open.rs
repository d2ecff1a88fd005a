//! Creating, joining, resizing and leaving a bulkhead, and noticing a loss of data.

use std::sync::Arc;
use std::time::Duration;

use super::{Data, Step, Table};
use crate::{CallId, Epoch, Outcome, OwnerId, RunId, ServerTime, Settings, Terms, Token, Version};

/// Returns the settings of a bulkhead that is made now.
pub(super) fn settings(now: ServerTime, limit: u64, config: u64, terms: Terms, run: Option<RunId>) -> Settings {
    Settings {
        epoch: u64::from(now).into(),
        limit,
        version: 1.into(),
        declared: limit,
        config,
        terms,
        quarantine: 0.into(),
        extra: 0,
        token: 0.into(),
        ticket: 0.into(),
        run,
    }
}

impl Table {
    pub(super) fn create(&mut self, mut m: Settings, known: Option<Epoch>, highest: Option<Token>, young: bool) {
        let now = ServerTime::from(u64::from(m.epoch));
        let least = u64::from(known.unwrap_or_default()).max(highest.unwrap_or_default().into()) + 1;
        let first = u64::from(now).max(least);
        // Half of the data is as good as none.
        let is_torn = self.data != Data { infos: self.data.infos.clone(), ..Data::default() };
        if (is_torn || known.is_some() || young) && m.run.is_some() {
            m.quarantine = now.after(m.terms.ttl);
        }
        (m.epoch, m.token, m.ticket) = (first.into(), first.into(), first.into());
        self.data = Data::default();
        self.settings = Some(m);
    }
}

impl Step<'_> {
    /// Compares what the process declares with what is there, which is the same if it has just
    /// created the bulkhead. A conflict changes nothing.
    pub(super) fn join(
        &mut self,
        limit: u64,
        config: u64,
        terms: Terms,
        known: Option<Epoch>,
        run: Option<RunId>,
    ) -> Result<(), Outcome> {
        let Terms { ttl, claim, .. } = self.m.terms;
        if self.m.terms != terms {
            return Err(Outcome::TermsConflict { ttl, claim });
        }
        if self.m.run.is_some() != run.is_some() {
            return Err(Outcome::RecoveryConflict);
        }
        if config == self.m.config && limit != self.m.declared {
            return Err(Outcome::LimitConflict { limit: self.m.declared, config });
        }
        if config > self.m.config {
            (self.m.declared, self.m.config) = (limit, config);
            self.change_limit(limit);
        }
        let is_other = run != self.m.run || known.is_some_and(|known| known != self.m.epoch);
        if is_other && run.is_some() {
            self.m.run = run;
            self.m.quarantine = self.now.after(ttl);
            // The last tokens may be among what was lost. Tokens grow from the time at which the
            // data was new, and slower than one in a microsecond.
            self.m.token = self.m.token.max(u64::from(self.now).into());
        }
        Ok(())
    }

    pub(super) fn begin_session(
        &mut self,
        owner: OwnerId,
        generation: u64,
        claim: Duration,
        info: &Arc<str>,
    ) -> Outcome {
        self.data.owners.set(owner, self.now.after(claim));
        self.data.infos.insert(owner, (generation, info.clone()));
        self.expire_and_pump();
        Outcome::Opened { quarantine: self.m.quarantine, owners: self.data.owners.len() as u64 }
    }

    pub(super) fn set_limit(&mut self, limit: u64, expected: Version) -> Outcome {
        if self.m.version != expected {
            return Outcome::VersionConflict;
        }
        self.change_limit(limit);
        self.expire_and_pump();
        Outcome::Done
    }

    fn change_limit(&mut self, limit: u64) {
        self.m.limit = limit;
        self.m.version = (u64::from(self.m.version) + 1).into();
    }

    pub(super) fn close(&mut self, owner: OwnerId, ids: &[CallId]) -> Outcome {
        self.drop_all(ids);
        self.data.owners.remove(&owner);
        self.data.infos.remove(&owner);
        self.expire_and_pump();
        Outcome::Done
    }
}
