//! Reading the state of a name.

use std::time::Duration;

use super::{Allocator, Declaration, Epoch, Level, ProcessId, RunId, ServerTime, Token, Version};

/// The state of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The epoch of the data.
    pub epoch: Epoch,
    /// The run of the server in which a process stated its condition last.
    pub run: Option<RunId>,
    /// The settings that the fleet has.
    pub declaration: Declaration,
    /// The process that declared them.
    pub declarer: ProcessId,
    /// The live limit, in units.
    pub limit: u32,
    /// Its version.
    pub version: Version,
    /// The units that are granted. More than the limit after it was lowered, or a loss of data.
    pub granted: u64,
    /// The last token.
    pub token: Token,
    /// The rest of the quarantine. Zero if there is none.
    pub quarantine: Duration,
    /// The level, while processes wait.
    pub level: Option<Level>,
    /// The processes that have or need units, by their identities.
    pub rows: Vec<RowStatus>,
}

/// One process in a [`Status`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RowStatus {
    /// The process.
    pub process: ProcessId,
    /// Its latest statement.
    pub seq: u64,
    /// The units that it has.
    pub granted: u32,
    /// The units that it needs.
    pub need: u32,
    /// The units with which it can go on: see [`Statement::least`](crate::share::Statement::least).
    pub least: u32,
    /// Its weight.
    pub weight: u32,
    /// Its ticket, if it needs more than it has: smaller ones are served first.
    pub ticket: Option<u64>,
    /// The time since its latest statement.
    pub silent: Duration,
    /// The time until its units are free unless it states its condition again.
    pub lease: Duration,
    /// Whether it can be granted units: it was heard within a claim, and listens.
    pub is_served: bool,
}

impl Allocator {
    /// Returns the state at the server's time `now`, without rows that have expired. `None` if
    /// there is no data.
    pub fn status(&self, now: ServerTime) -> Option<Status> {
        let data = self.data.as_ref()?;
        let now = data.clock_at(now);
        let living = data.rows.iter().filter(|(_, row)| row.until > now && !row.is_empty());
        let rows = living.map(|(process, row)| RowStatus {
            process: *process,
            seq: row.seq,
            granted: row.granted,
            need: row.need,
            least: row.least,
            weight: row.weight,
            ticket: row.is_hungry().then_some(row.ticket),
            silent: now.since(row.stated),
            lease: row.until.since(now),
            is_served: row.heard > now,
        });
        let waits = data.rows.values().any(|row| row.heard > now && row.waits(data.limit));
        let rows: Vec<_> = rows.collect();
        Some(Status {
            epoch: data.epoch,
            run: data.run,
            declaration: data.declaration,
            declarer: data.declarer,
            limit: data.limit,
            version: data.version,
            granted: rows.iter().map(|row| u64::from(row.granted)).sum(),
            token: data.token,
            quarantine: data.quarantine.since(now),
            level: data.level_at(now).or_else(|| waits.then_some(data.level)),
            rows,
        })
    }
}
