//! The form of rows, for the tests.

use std::collections::BTreeSet;

use bulklink_fleet::share::{self, Allocator, Notice, Statement};
use bulklink_fleet::{Name, ServerTime};

use super::row::{Line, Row};
use super::step::{Answer, Command, Me};

/// Has circuits read the time by an expression.
#[cfg(feature = "breaker")]
pub fn with_clock(circuits: crate::breaker::PostgresCircuits, expression: &str) -> crate::breaker::PostgresCircuits {
    circuits.with_clock(expression)
}

/// A row that is encoded and decoded for each statement, as on a server.
#[derive(Debug, Default)]
pub struct Rows {
    text: Option<String>,
}

impl Rows {
    /// Returns the text of the row.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Makes the row be this text.
    pub fn set(&mut self, text: Option<String>) {
        self.text = text;
    }

    fn row(&self) -> Option<Row> {
        self.text.as_deref().map_or_else(|| Ok(Row::default()), Row::decode).ok()
    }

    /// Returns the allocator of the row, or `None` if it is malformed.
    pub fn allocator(&self) -> Option<Allocator> {
        self.row().map(|row| row.allocator)
    }

    /// Applies a statement of a process that listens, by a link with this key. Returns its answer,
    /// the notices for the process itself, and the number of those for others.
    pub fn apply(
        &mut self,
        now: ServerTime,
        key: i64,
        name: &Name,
        statement: &Statement,
    ) -> Option<(share::Answer, Vec<Notice>, usize)> {
        let mut row = self.row()?;
        let me = Me { process: statement.process, line: Line { key, channel: format!("channel{key}") } };
        let command = Command::Sync(*statement);
        let mut done = row.apply(now, &me, true, &BTreeSet::new(), name, [&command].into_iter());
        self.text = row.encode();
        match done.answers.pop()? {
            Answer::Sync(answer) => Some((answer, done.told, done.notices.keys.len())),
            _ => None,
        }
    }
}
