//! What the commands on shares print, as values: their fields are the keys of the JSON.

use std::time::Duration;

use bulklink_fleet::share::{Level, RowStatus, Status};
use bulklink_fleet::{Name, StoreError, Version};
use serde::Serialize;

use crate::report::{Names, now_ms, whole_millis};

/// The shares of a namespace, or all.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct List {
    pub(crate) at_ms: u64,
    pub(crate) shares: Vec<Row>,
}

/// A share in a list.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    #[serde(flatten)]
    pub(crate) names: Names,
    #[serde(flatten)]
    pub(crate) content: Content,
}

/// What a share in a list has.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Content {
    Read(Summary),
    Unreadable {
        /// Why it could not be read.
        error: String,
    },
}

/// The state of a share in a few numbers.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Summary {
    pub(crate) limit: u32,
    pub(crate) version: u64,
    pub(crate) granted: u64,
    /// How many have or need units.
    pub(crate) processes: u64,
    /// What a process can keep while others wait, for each unit of its weight.
    pub(crate) level: Option<u32>,
    /// The rest of the quarantine.
    pub(crate) quarantine_ms: Option<u64>,
}

/// A share.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Show {
    pub(crate) at_ms: u64,
    #[serde(flatten)]
    pub(crate) names: Names,
    #[serde(flatten)]
    pub(crate) summary: Summary,
    pub(crate) declared_limit: u32,
    pub(crate) config: u64,
    pub(crate) lease_ms: u64,
    pub(crate) claim_ms: u64,
    pub(crate) calm_ms: u64,
    pub(crate) recovers: bool,
    pub(crate) declarer: String,
    pub(crate) epoch: u64,
    /// As the store has it: in hexadecimal, as it may be above 2⁵³.
    pub(crate) run: Option<String>,
    pub(crate) last_token: u64,
    pub(crate) rows: Vec<Member>,
}

/// A process.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Member {
    pub(crate) process: String,
    pub(crate) granted: u32,
    pub(crate) need: u32,
    pub(crate) weight: u32,
    /// Its place among those that wait. `None` if it does not.
    pub(crate) ticket: Option<u64>,
    pub(crate) silent_ms: u64,
    pub(crate) lease_left_ms: u64,
    pub(crate) served: bool,
}

/// What came of `resize`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Resize {
    #[serde(flatten)]
    pub(crate) names: Names,
    pub(crate) limit: u32,
    pub(crate) previous_limit: u32,
    pub(crate) version: u64,
}

/// Why there is no view at this time; only `watch` goes on after it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Gap {
    pub(crate) at_ms: u64,
    pub(crate) error: String,
}

impl List {
    /// How many shares could not be read.
    pub(crate) fn unreadable(&self) -> usize {
        self.shares.iter().filter(|row| matches!(row.content, Content::Unreadable { .. })).count()
    }
}

impl Row {
    /// `None` if there is no such share any more.
    pub(crate) fn of(name: &Name, looked: Result<Option<Status>, StoreError>) -> Option<Self> {
        let content = match looked {
            Ok(status) => Content::Read(Summary::of(&status?)),
            Err(error) => Content::Unreadable { error: error.to_string() },
        };
        Some(Row { names: Names::of(name), content })
    }
}

impl Summary {
    fn of(status: &Status) -> Self {
        let Status { limit, version, granted, level, quarantine, rows, .. } = status;
        Summary {
            limit: *limit,
            version: (*version).into(),
            granted: *granted,
            processes: rows.len() as u64,
            // All needs can be met at the largest.
            level: level.filter(|level| *level < Level::UNBOUNDED).map(u32::from),
            quarantine_ms: (*quarantine > Duration::ZERO).then(|| whole_millis(*quarantine)),
        }
    }
}

impl Show {
    pub(crate) fn of(name: &Name, status: &Status) -> Self {
        let Status { declaration, .. } = status;
        Show {
            at_ms: now_ms(),
            names: Names::of(name),
            summary: Summary::of(status),
            declared_limit: declaration.limit,
            config: declaration.config,
            lease_ms: whole_millis(declaration.terms.lease),
            claim_ms: whole_millis(declaration.terms.claim),
            calm_ms: whole_millis(declaration.terms.calm),
            recovers: declaration.terms.recovers,
            declarer: status.declarer.to_string(),
            epoch: status.epoch.into(),
            run: status.run.map(|run| format!("{:016x}", u64::from(run))),
            last_token: status.token.into(),
            rows: status.rows.iter().map(Member::of).collect(),
        }
    }
}

impl Member {
    fn of(row: &RowStatus) -> Self {
        Member {
            process: row.process.to_string(),
            granted: row.granted,
            need: row.need,
            weight: row.weight,
            ticket: row.ticket,
            silent_ms: whole_millis(row.silent),
            lease_left_ms: whole_millis(row.lease),
            served: row.is_served,
        }
    }
}

impl Resize {
    pub(crate) fn of(name: &Name, limit: u32, version: Version, previous_limit: u32) -> Self {
        Resize { names: Names::of(name), limit, previous_limit, version: version.into() }
    }
}
