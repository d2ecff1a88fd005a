//! The form of rows, for the tests.

use std::collections::BTreeSet;

use bulklink_fleet::{Answer, Command, Name, Notice, OwnerId, ServerTime, Table};

use super::row::{Line, Row};
use super::step::Me;

/// A row that is encoded and decoded for each command, as on a server.
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

    /// Returns what the row has, or `None` if it is malformed.
    pub fn table(&self) -> Option<Table> {
        let text = self.text.as_deref();
        text.map_or_else(|| Ok(Row::default()), Row::decode).ok().map(|row| row.table)
    }

    /// Applies a command of a process that listens, by a link with this key. Returns its answer,
    /// the notices for the process itself, and how many others were told.
    pub fn apply(
        &mut self,
        now: ServerTime,
        owner: OwnerId,
        key: i64,
        name: &Name,
        command: &Command,
    ) -> Option<(Answer, Vec<Notice>, usize)> {
        let text = self.text.as_deref();
        let mut row = text.map_or_else(|| Ok(Row::default()), Row::decode).ok()?;
        let me = Me { owner, line: Line { key, channel: format!("channel{key}") } };
        let mut done = row.apply(now, &me, true, &BTreeSet::new(), name, [command].into_iter());
        self.text = row.encode();
        let (told, answer) = done.answers.pop()?;
        Some((answer, told, done.keys.len()))
    }
}
