//! The server's machine of one name: assigns the units of the limit to processes.
//!
//! It is a pure function of its state, the server's time and a command. The scripts of real servers
//! do the same steps in the same order.
//!
//! What holds after each step:
//!
//! - A row lives at least until the deadline of its process, and has at least the units that the
//!   process can use, except between a loss of data and the end of the quarantine that follows.
//! - The sum of all granted units grows only below the limit, or by adoption in a quarantine.
//! - A process that needs more than it has and was heard within a claim waits only if no unit is
//!   free, or in a quarantine.
//! - Tokens grow, also over a loss of data: each is at least the server's time in microseconds.
//!
//! A step looks at each row a constant number of times, and sorts those that wait. No value in a
//! statement makes a step longer than that, or panic. A real server keeps the rows in order, and
//! looks at those that change, at 32 that wait, and now and then at all for the level.

mod grants;
mod level;
mod loss;
mod row;
mod status;
mod text;

use std::collections::BTreeMap;
use std::time::Duration;

pub use status::{RowStatus, Status};
pub use text::Texts;

use self::row::Row;
use super::{Answer, Declaration, Grant, Level, LimitRefusal, Notice, Reply, Statement};
use crate::{Epoch, ProcessId, RunId, ServerTime, Token, Version};

/// The data of one name on a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Allocator {
    /// `None` until the first statement.
    data: Option<Data>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Data {
    epoch: Epoch,
    run: Option<RunId>,
    declaration: Declaration,
    /// The process that declared it.
    declarer: ProcessId,
    limit: u32,
    version: Version,
    /// The last token, or serial of a statement: they are one series.
    token: Token,
    /// The last place in the queue.
    ticket: u64,
    /// The time of the last step. All times here are of this clock, which never goes back.
    clock: ServerTime,
    /// How far this clock is ahead of the server's, in microseconds.
    ahead: u64,
    /// The end of the quarantine, in which nothing is granted. Zero if there was none.
    quarantine: ServerTime,
    /// No row that was ever written lives longer.
    horizon: ServerTime,
    /// Until when idle units are called back.
    tight: ServerTime,
    /// The level at `leveled`.
    level: Level,
    /// When the level was computed. Zero if it must be computed anew.
    leveled: ServerTime,
    /// When all processes were notified last, and the highest level that any was given since then.
    told: (ServerTime, Level),
    rows: BTreeMap<ProcessId, Row>,
}

/// Delivers a notice. Returns whether the process of a grant listens.
type Publish<'a> = &'a mut dyn FnMut(Notice) -> bool;

impl Allocator {
    /// Processes a statement at the server's time `now`.
    ///
    /// Notices for other processes go to `publish`, which returns whether the process of a grant
    /// listens: if not, the grant is undone, and the process gets no other before its next
    /// statement.
    ///
    /// # Errors
    ///
    /// Returns a [`Refusal`](super::Refusal) if the statement is not the latest, or if the process
    /// and the fleet declare different values for one configuration. Then nothing has changed.
    pub fn sync(&mut self, now: ServerTime, statement: &Statement, publish: &mut dyn FnMut(Notice) -> bool) -> Answer {
        let statement = &statement.bounded();
        if let Some(data) = &self.data {
            data.check(now, statement)?;
        }
        let is_new = self.data.is_none();
        let data = self.data.get_or_insert_with(|| Data::new(now, statement));
        let now = data.begin(now);
        // By the terms of before: they are those of the processes that may be missing.
        data.recover(now, statement, is_new);
        data.join(now, statement);
        let kept = data.replace_row(now, statement);
        data.pump(now, Some(statement.process), publish);
        Ok(data.finish(now, statement, kept))
    }

    /// Changes the live limit to `limit` units, if its version is `expected`. Returns its new
    /// version.
    ///
    /// Units in use above a lower limit stay granted until they are given back.
    ///
    /// # Errors
    ///
    /// Returns a [`LimitRefusal`] if there is no data, or if the limit has another version.
    pub fn set_limit(
        &mut self,
        now: ServerTime,
        limit: u32,
        expected: Version,
        publish: &mut dyn FnMut(Notice) -> bool,
    ) -> Result<Version, LimitRefusal> {
        let data = self.data.as_mut().ok_or(LimitRefusal::Absent)?;
        if data.version != expected {
            return Err(LimitRefusal::Version { current: data.version, limit: data.limit });
        }
        let now = data.begin(now);
        data.change_limit(limit);
        data.pump(now, None, publish);
        Ok(data.version)
    }
}

impl Data {
    fn new(now: ServerTime, statement: &Statement) -> Self {
        let known = statement.epoch.unwrap_or_default();
        Self {
            epoch: u64::from(now).max(u64::from(known).saturating_add(1)).into(),
            run: statement.run,
            declaration: statement.declaration,
            declarer: statement.process,
            limit: statement.declaration.limit,
            version: 1.into(),
            token: Token::default(),
            ticket: 0,
            clock: now,
            ahead: 0,
            quarantine: ServerTime::default(),
            horizon: ServerTime::default(),
            tight: ServerTime::default(),
            level: Level::UNBOUNDED,
            leveled: ServerTime::default(),
            told: (ServerTime::default(), Level::UNBOUNDED),
            rows: BTreeMap::new(),
        }
    }

    /// Begins a step: drops the rows that have expired, and passes over processes that are silent.
    /// Returns the time of this name's clock.
    fn begin(&mut self, now: ServerTime) -> ServerTime {
        let now = self.set_clock(now);
        self.rows.retain(|_, row| row.until > now);
        for row in self.rows.values_mut().filter(|row| row.heard <= now) {
            row.heard = ServerTime::default();
        }
        now
    }

    /// Replaces the row of the process. Returns the units that it keeps.
    fn replace_row(&mut self, now: ServerTime, statement: &Statement) -> u32 {
        let old = self.rows.remove(&statement.process).unwrap_or_default();
        // Outside a quarantine, a process keeps only units that the server knows of.
        let known = if now < self.quarantine { statement.keep } else { old.granted };
        let granted = statement.keep.min(known);
        let serial = self.next_token(now, statement.token);
        let mut row = Row {
            seq: statement.seq,
            serial,
            granted,
            need: statement.need,
            least: statement.least,
            weight: statement.weight,
            ticket: old.ticket,
            stated: now,
            heard: now.after(self.declaration.terms.claim),
            until: self.kept_until(now, granted, &old, statement),
            token: if granted > old.granted { serial } else { old.token },
        };
        row.ticket = match old.ticket {
            _ if !row.is_hungry() => 0,
            0 => self.next_ticket(),
            place => place,
        };
        self.rows.insert(statement.process, row);
        granted
    }

    /// Returns the end of a row without regard to grants of this step. Units that are
    /// kept can be used until an earlier deadline, which a shorter lease or a loss of data does not
    /// change.
    fn kept_until(&self, now: ServerTime, granted: u32, old: &Row, statement: &Statement) -> ServerTime {
        let claim = now.after(self.declaration.terms.claim);
        match granted {
            0 => claim,
            _ if granted > old.granted => claim.max(old.until).max(now.after(self.longest_of(statement))),
            _ => claim.max(old.until),
        }
    }

    /// Ends the step of a statement: adds spare units, and renews the row if it has units.
    fn finish(&mut self, now: ServerTime, statement: &Statement, kept: u32) -> Reply {
        let mut row = self.rows[&statement.process].clone();
        row.granted += self.spare(now, statement);
        if row.granted > kept {
            row.token = self.next_token(now, Token::default());
        }
        if row.granted > 0 {
            row.until = row.until.max(now.after(self.declaration.terms.lease));
        }
        self.horizon = self.horizon.max(row.until);
        self.rows.insert(statement.process, row);
        self.reply(now, statement.process)
    }

    fn reply(&self, now: ServerTime, process: ProcessId) -> Reply {
        let living = || self.rows.values().filter(|row| row.is_served() && !row.is_empty());
        Reply {
            grant: self.grant(now, process),
            due: self.due(now, process),
            quarantine: self.quarantine.since(now),
            longest: self.declaration.terms.longest().max(self.horizon.since(now)),
            limit: self.limit,
            version: self.version,
            processes: living().count() as u64,
            weights: living().map(|row| u64::from(row.weight.max(1))).sum(),
        }
    }

    fn grant(&self, now: ServerTime, process: ProcessId) -> Grant {
        let row = &self.rows[&process];
        Grant {
            process,
            seq: row.seq,
            serial: row.serial,
            units: row.granted,
            valid: row.until.since(row.stated),
            token: row.token,
            epoch: self.epoch,
            level: self.level_at(now),
        }
    }

    /// Returns the time until units can become free by themselves, if the process needs more, or
    /// until all processes can be notified of a lower level: the process must ask again then, since
    /// it may be the last to state anything.
    fn due(&self, now: ServerTime, process: ProcessId) -> Option<Duration> {
        if !self.rows[&process].is_hungry() {
            return None;
        }
        if now < self.quarantine {
            return Some(self.quarantine.since(now));
        }
        let others = self.rows.iter().filter(|(other, _)| **other != process);
        others.map(|(_, row)| row.turns()).chain(self.next_news(now)).min().map(|at| at.since(now))
    }

    /// Returns a part of the free units, so that some stay free for the next process.
    fn spare(&self, now: ServerTime, statement: &Statement) -> u32 {
        let row = &self.rows[&statement.process];
        if now < self.quarantine || now < self.tight || row.is_hungry() {
            return 0;
        }
        let idle = row.granted - row.need;
        statement.spare.saturating_sub(idle).min(self.free() / 4)
    }

    /// Returns the units that are granted, which can be more than the limit.
    fn granted(&self) -> u64 {
        self.rows.values().map(|row| u64::from(row.granted)).sum()
    }

    fn free(&self) -> u32 {
        // The difference is at most the limit.
        u32::try_from(u64::from(self.limit).saturating_sub(self.granted())).unwrap_or(u32::MAX)
    }

    /// Returns a number that is larger than all before, than `known`, and not before `now`: so
    /// tokens grow over a loss of data too.
    fn next_token(&mut self, now: ServerTime, known: Token) -> Token {
        let last = u64::from(self.token.max(known));
        self.token = last.saturating_add(1).max(now.into()).into();
        self.token
    }

    fn next_ticket(&mut self) -> u64 {
        self.ticket = self.ticket.saturating_add(1);
        self.ticket
    }

    fn change_limit(&mut self, limit: u32) {
        self.limit = limit;
        self.version = u64::from(self.version).saturating_add(1).into();
        self.leveled = ServerTime::default();
    }
}
