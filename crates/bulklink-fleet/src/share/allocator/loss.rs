//! The declaration and the clock of a name, and the recovery from a loss of data.

use std::time::Duration;

use super::{Data, ServerTime, Statement};
use crate::share::refusal::Refusal;

impl Data {
    /// Refuses a statement that must not have an effect.
    pub(super) fn check(&self, now: ServerTime, statement: &Statement) -> Result<(), Refusal> {
        if self.rows.get(&statement.process).is_some_and(|row| row.seq >= statement.seq) {
            return Err(Refusal::Stale);
        }
        if statement.declaration.config != self.declaration.config || self.is_abandoned(self.clock_at(now)) {
            return Ok(());
        }
        Refusal::between(statement, self.declarer, &self.declaration).map_or(Ok(()), Err)
    }

    /// Takes the declaration of the process if it is of a later configuration, or if the name is
    /// abandoned. Rows keep their ends, and a grant names how long it is valid, so processes need
    /// not agree.
    pub(super) fn join(&mut self, now: ServerTime, statement: &Statement) {
        let (new, old) = (statement.declaration, self.declaration);
        if new == old || new.config <= old.config && !self.is_abandoned(now) {
            return;
        }
        (self.declaration, self.declarer) = (new, statement.process);
        if (new.config, new.limit) != (old.config, old.limit) {
            self.change_limit(new.limit);
        }
    }

    /// Whether all that was ever granted has expired.
    fn is_abandoned(&self, now: ServerTime) -> bool {
        self.horizon <= now
    }

    /// Begins a quarantine if the data is not that which the process knows: other processes may
    /// use units that are not in it.
    ///
    /// All of them stated their condition before the loss, so the quarantine outlasts them.
    pub(super) fn recover(&mut self, now: ServerTime, statement: &Statement, is_new: bool) {
        let has_other_epoch = statement.epoch.is_some_and(|epoch| epoch != self.epoch);
        let has_other_run = statement.run.is_some() && statement.run != self.run;
        if has_other_run {
            self.run = statement.run;
        }
        let is_lost = has_other_epoch || has_other_run || is_new && statement.is_young;
        if is_lost && self.declaration.terms.recovers {
            let end = now.after(self.longest_of(statement)).max(self.horizon);
            self.quarantine = self.quarantine.max(end);
        }
    }

    /// Returns the longest lease that the fleet or this process knows of.
    pub(super) fn longest_of(&self, statement: &Statement) -> Duration {
        self.declaration.terms.longest().max(statement.longest)
    }

    /// Returns the time of this name's clock, which stands still where the server's goes back: an
    /// end of before must not be further away afterwards.
    pub(super) fn clock_at(&self, now: ServerTime) -> ServerTime {
        ServerTime::from(u64::from(now).saturating_add(self.ahead)).max(self.clock)
    }

    /// Moves this name's clock on.
    pub(super) fn set_clock(&mut self, now: ServerTime) -> ServerTime {
        self.clock = self.clock_at(now);
        self.ahead = u64::from(self.clock).saturating_sub(now.into());
        self.clock
    }
}
