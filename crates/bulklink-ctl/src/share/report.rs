//! The reports on shares.

use std::time::Duration;

use anstyle::Style;
use bulklink_fleet::share::{Level, RowStatus, Status};
use bulklink_fleet::{Name, StoreError, Version};
use serde::Serialize;

use crate::failure::explained;
use crate::report::{Names, Report, View, whole_millis};
use crate::text::{RED, YELLOW, cell, count, date, facts, known, styled, table, time, visible};

/// The shares of a namespace, or all.
#[derive(Serialize)]
pub(crate) struct List {
    pub(crate) shares: Vec<Row>,
}

/// A share in a list.
#[derive(Serialize)]
pub(crate) struct Row {
    #[serde(flatten)]
    names: Names,
    #[serde(flatten)]
    content: Content,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content {
    Read(Summary),
    Unreadable(Gap),
}

/// The reason why there is no view at this time, or of one share.
#[derive(Serialize)]
pub(crate) struct Gap {
    pub(crate) error: String,
}

/// The state of a share in a few numbers.
#[derive(Serialize)]
struct Summary {
    limit: u32,
    version: u64,
    granted: u64,
    /// How many have or need units.
    processes: u64,
    /// How many units a process can keep while others wait, for each unit of its weight.
    level: Option<u32>,
    /// The rest of the quarantine.
    quarantine_ms: Option<u64>,
}

/// A share.
#[derive(Serialize)]
pub(crate) struct Show {
    #[serde(flatten)]
    names: Names,
    #[serde(flatten)]
    summary: Summary,
    declared_limit: u32,
    config: u64,
    lease_ms: u64,
    claim_ms: u64,
    calm_ms: u64,
    recovers: bool,
    declarer: String,
    epoch: u64,
    /// As the store has it: in hexadecimal, as it may be above 2⁵³.
    run: Option<String>,
    last_token: u64,
    rows: Vec<Member>,
}

/// A process.
#[derive(Serialize)]
struct Member {
    process: String,
    granted: u32,
    need: u32,
    weight: u32,
    /// Its place among those that wait. `None` if it does not.
    ticket: Option<u64>,
    silent_ms: u64,
    lease_left_ms: u64,
    served: bool,
}

/// The effect of `resize`.
#[derive(Serialize)]
pub(crate) struct Resize {
    #[serde(flatten)]
    names: Names,
    limit: u32,
    previous_limit: u32,
    version: u64,
}

impl List {
    /// How many shares could not be read.
    pub(crate) fn unreadable(&self) -> usize {
        self.shares.iter().filter(|row| matches!(row.content, Content::Unreadable(_))).count()
    }
}

impl Report for List {
    fn text(&self) -> String {
        let Some(first) = self.shares.first() else { return "no shares\n".to_owned() };
        let is_one = self.shares.iter().all(|row| row.names.namespace == first.names.namespace);
        let rows = self.shares.iter().map(|row| row.cells(is_one));
        table("NAME, LIMIT, GRANTED, PROCESSES, LEVEL, NOTE", 1..5, rows)
    }
}

impl View for List {
    fn line(&self) -> String {
        let lines: Vec<_> = self.shares.iter().map(Row::line).collect();
        if lines.is_empty() { "no shares".to_owned() } else { lines.join("; ") }
    }
}

impl Row {
    /// `None` if there is no such share any more.
    pub(crate) fn of(name: &Name, looked: Result<Option<Status>, StoreError>) -> Option<Self> {
        let content = match looked {
            Ok(status) => Content::Read(Summary::of(&status?)),
            Err(error) => Content::Unreadable(Gap { error: explained(&error) }),
        };
        Some(Row { names: Names::of(name), content })
    }

    fn cells(&self, is_one_namespace: bool) -> Vec<String> {
        let Names { namespace, label, .. } = &self.names;
        let name = if is_one_namespace { cell(label) } else { cell(format!("{namespace}:{label}")) };
        let dash = || "-".to_owned();
        match &self.content {
            Content::Read(summary) => vec![
                name,
                cell(summary.limit),
                styled(summary.load(), summary.granted),
                cell(summary.processes),
                known(summary.level),
                summary.recovering().map(|note| styled(YELLOW, note)).unwrap_or_default(),
            ],
            Content::Unreadable(Gap { error }) => vec![name, dash(), dash(), dash(), dash(), styled(RED, error)],
        }
    }

    fn line(&self) -> String {
        let essence = match &self.content {
            Content::Read(summary) => summary.line(),
            Content::Unreadable(gap) => gap.line(),
        };
        format!("{}: {essence}", visible(&self.names.label))
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

    /// More than the limit is granted after it was lowered, or after data was lost.
    fn load(&self) -> Style {
        match self.level {
            _ if self.granted > self.limit.into() => RED,
            Some(_) => YELLOW,
            None => Style::new(),
        }
    }

    fn recovering(&self) -> Option<String> {
        self.quarantine_ms.map(|rest| format!("recovering for {}", time(rest)))
    }

    fn line(&self) -> String {
        let Summary { limit, granted, processes, .. } = self;
        let level = self.level.map(|level| format!(", level {level}")).unwrap_or_default();
        let recovering = self.recovering().map(|text| format!(", {text}")).unwrap_or_default();
        format!("{granted} of {limit} granted, {}{level}{recovering}", count(*processes, "process"))
    }
}

impl Show {
    pub(crate) fn of(name: &Name, status: &Status) -> Self {
        let Status { declaration, .. } = status;
        Show {
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

impl Report for Show {
    fn text(&self) -> String {
        let Show { names, summary, declared_limit, config, declarer, epoch, .. } = self;
        let [lease, claim, calm] = [self.lease_ms, self.claim_ms, self.calm_ms].map(time);
        let recovery = if self.recovers { "recovers" } else { "does not recover" };
        let level = summary.level.map(|level| format!("{} for each weight", count(level.into(), "unit")));
        let quarantine = summary.quarantine_ms.map(|rest| format!("for {}: nothing is granted", time(rest)));
        let mut lines = vec![
            ("limit", format!("{}, version {}", summary.limit, summary.version)),
            ("declared", cell(format!("{declared_limit}, configuration {config}, by {declarer}"))),
            ("terms", format!("lease {lease}, claim {claim}, calm {calm}, {recovery}")),
            ("granted", styled(summary.load(), summary.granted)),
            ("processes", cell(summary.processes)),
        ];
        lines.extend(level.map(|text| ("level", styled(YELLOW, text))));
        lines.extend([
            ("token", cell(self.last_token)),
            ("epoch", format!("{epoch}, {}", date(i64::try_from(epoch / 1000).unwrap_or(i64::MAX)))),
            ("run", known(self.run.as_ref())),
        ]);
        lines.extend(quarantine.map(|text| ("quarantine", styled(YELLOW, text))));
        let facts = facts(&names.label, &names.namespace, lines);
        if self.rows.is_empty() {
            return facts;
        }
        let heads = "PROCESS, GRANTED, NEED, WEIGHT, TICKET, SILENT, LEASE, SERVED";
        format!("{facts}\n{}", table(heads, 1..7, self.rows.iter().map(Member::cells)))
    }
}

impl View for Show {
    fn line(&self) -> String {
        format!("{}: {}", visible(&self.names.label), self.summary.line())
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

    fn cells(&self) -> Vec<String> {
        vec![
            cell(&self.process),
            cell(self.granted),
            cell(self.need),
            cell(self.weight),
            known(self.ticket),
            time(self.silent_ms),
            time(self.lease_left_ms),
            if self.served { cell("yes") } else { styled(YELLOW, "no") },
        ]
    }
}

impl Resize {
    pub(crate) fn of(name: &Name, limit: u32, version: Version, previous_limit: u32) -> Self {
        Resize { names: Names::of(name), limit, previous_limit, version: version.into() }
    }
}

impl Report for Resize {
    fn text(&self) -> String {
        let Resize { names, limit, previous_limit, version } = self;
        format!("{}: limit {limit}, was {previous_limit}; version {version}\n", visible(&names.label))
    }
}

impl Report for Gap {
    fn text(&self) -> String {
        styled(RED, &self.error) + "\n"
    }
}

impl View for Gap {
    fn line(&self) -> String {
        visible(&self.error)
    }
}
