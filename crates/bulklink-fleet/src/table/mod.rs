//! The server's machine: what a server does with each command, as a function of the time.
//!
//! Scripts of real servers do the same steps in the same order, so that tests can compare them with
//! this machine command by command.

mod acquire;
mod beat;
mod open;
mod pump;
mod scores;
mod status;

use std::collections::BTreeMap;
use std::sync::Arc;

use scores::Scores;

use crate::{Answer, CallId, Command, Era, Head, Notice, Outcome, OwnerId, ServerTime, Settings, Ticket};

/// The data of one bulkhead on a server.
///
/// ```
/// use bulklink_fleet::{Command, ServerTime, Table, Version};
///
/// let mut table = Table::default();
/// let resize = Command::SetLimit { limit: 5, expected: Version::from(1) };
/// let answer = table.apply(ServerTime::from(7), &resize, &mut |_, _| true);
/// assert_eq!(answer.outcome, bulklink_fleet::Outcome::Stale, "there is no such bulkhead");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    data: Data,
    settings: Option<Settings>,
    cuts: Cuts,
}

/// How much one command does at most, so that no command blocks the server for long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cuts {
    /// The largest number of leases, sessions and waiters that are looked at: 500.
    pub page: usize,
    /// The largest number of waiters that leave the queue: 200.
    pub grants: usize,
}

impl Default for Cuts {
    fn default() -> Self {
        Self { page: 500, grants: 200 }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Data {
    /// Leases, and when they expire.
    leases: Scores<CallId, ServerTime>,
    /// Waiters, and their tickets.
    queue: Scores<CallId, Ticket>,
    /// Processes, and when their sessions end.
    owners: Scores<OwnerId, ServerTime>,
    /// The latest generation of each process, and what it says about itself.
    infos: BTreeMap<OwnerId, (u64, Arc<str>)>,
}

/// Delivers a notice to a process. Returns whether a link was there to take it.
type Publish<'a> = &'a mut dyn FnMut(OwnerId, Notice) -> bool;

/// One command on a bulkhead that exists.
struct Step<'a> {
    data: &'a mut Data,
    m: &'a mut Settings,
    now: ServerTime,
    cuts: Cuts,
    publish: Publish<'a>,
    more: bool,
}

impl Table {
    /// Makes a bulkhead without data, with other cut-offs than usual.
    pub fn with_cuts(cuts: Cuts) -> Self {
        Self { cuts, ..Self::default() }
    }

    /// Applies a command at the server's time `now`.
    ///
    /// `publish` takes the notices, and returns whether the process listens. The ids in one command
    /// must differ from each other.
    pub fn apply(
        &mut self,
        now: ServerTime,
        command: &Command,
        publish: &mut dyn FnMut(OwnerId, Notice) -> bool,
    ) -> Answer {
        match command {
            Command::Status { offset, count } => return self.status(now, *offset, *count),
            Command::Release { ids } if self.release_fast(ids) => return Answer { outcome: Outcome::Done, head: None },
            Command::Release { ids } if self.settings.is_none() => self.data.remove_all(ids),
            Command::Open { limit, config, terms, known, highest, run, young, .. } if self.settings.is_none() => {
                let first = open::settings(now, *limit, *config, *terms, *run);
                self.create(first, *known, *highest, *young);
            }
            _ => {}
        }
        let Some(m) = &mut self.settings else { return self.absent(now) };
        let mut step = Step { data: &mut self.data, m, now, cuts: self.cuts, publish, more: false };
        let outcome = step.run(command);
        step.answer(outcome)
    }

    /// Loses all data, as a server does that restarts empty.
    pub fn forget(&mut self) {
        self.data = Data::default();
        self.settings = None;
    }

    /// Loses the settings, and keeps leases, waiters and sessions.
    pub fn forget_settings(&mut self) {
        self.settings = None;
    }

    fn absent(&self, now: ServerTime) -> Answer {
        let head = Head {
            now,
            epoch: None,
            limit: 0,
            version: 0.into(),
            used: 0,
            waiting: self.data.queue.len() as u64,
            more: false,
        };
        Answer { outcome: Outcome::Stale, head: Some(head) }
    }
}

impl Step<'_> {
    fn run(&mut self, command: &Command) -> Outcome {
        let outcome = match command {
            Command::Open { owner, generation, limit, config, terms, known, run, info, .. } => self
                .join(*limit, *config, *terms, *known, *run)
                .map(|()| self.begin_session(*owner, *generation, terms.claim, info)),
            Command::Acquire { id, wait, queue, era, terms, give_back } => {
                self.check(*era).map(|()| self.acquire(*id, *wait, *queue, *terms, give_back))
            }
            Command::Release { ids } => {
                self.drop_all(ids);
                self.expire_and_pump();
                Ok(Outcome::Done)
            }
            Command::Beat { owner, generation, era, terms, info, leases, waiters, gone } => {
                self.check(*era).and_then(|()| self.renew_session(*owner, *generation, terms.claim, info)).map(|()| {
                    let fresh = self.now.after(terms.ttl);
                    self.beat(leases, waiters, gone, fresh)
                })
            }
            Command::Reap { full, offset } => Ok(self.reap(*full, *offset)),
            Command::SetLimit { limit, expected } => Ok(self.set_limit(*limit, *expected)),
            Command::Close { owner, ids } => Ok(self.close(*owner, ids)),
            Command::Status { .. } => unreachable!("a status needs no settings"),
        };
        outcome.unwrap_or_else(|refusal| refusal)
    }

    fn check(&self, era: Era) -> Result<(), Outcome> {
        let same = era == Era { epoch: self.m.epoch, run: self.m.run };
        if same { Ok(()) } else { Err(Outcome::Stale) }
    }

    fn answer(&self, outcome: Outcome) -> Answer {
        let head = Head {
            now: self.now,
            epoch: Some(self.m.epoch),
            limit: self.m.limit,
            version: self.m.version,
            used: self.used(),
            waiting: self.data.queue.len() as u64,
            more: self.more,
        };
        // A grant says only its token, unless there is more to do.
        let is_bare = matches!(outcome, Outcome::Granted { .. }) && !self.more;
        Answer { outcome, head: (!is_bare).then_some(head) }
    }
}
