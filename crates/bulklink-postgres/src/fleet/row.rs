//! The row of one name: what an [`Allocator`] has, and which processes listen.
//!
//! It is a text of lines, so that people can read it too. Each line begins with its kind:
//!
//! | line | content |
//! | --- | --- |
//! | `2` | the version of this form |
//! | `s` | a setting, and its value |
//! | `r` | a process, and its row |
//! | `c` | a process that listens, the key of its lock, and its channel |

use std::collections::BTreeMap;
use std::fmt::Write;

use bulklink_fleet::ProcessId;
use bulklink_fleet::share::{Allocator, Texts};

/// The first line of a row in this form.
const VERSION: &str = "2";

/// The data of one name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Row {
    pub(crate) allocator: Allocator,
    /// The processes that listen.
    pub(crate) lines: BTreeMap<ProcessId, Line>,
}

/// A link that listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The key of a lock that its session holds, and no other link ever has.
    pub(crate) key: i64,
    /// Where it listens. Only the row has this random name.
    pub(crate) channel: String,
}

/// The text is no row.
#[derive(Debug, PartialEq)]
pub(crate) struct Malformed;

impl Row {
    /// Returns the text of the row, or `None` if it has nothing. A process without a row listens to
    /// nothing.
    pub(crate) fn encode(&mut self) -> Option<String> {
        let Texts { settings, rows } = self.allocator.texts()?;
        self.lines.retain(|process, _| rows.contains_key(&process.to_string()));
        let mut text = format!("{VERSION}\n");
        let mut line = |line: std::fmt::Arguments<'_>| writeln!(text, "{line}").expect("a string takes all");
        for (name, value) in &settings {
            line(format_args!("s {name} {value}"));
        }
        for (process, row) in &rows {
            line(format_args!("r {process} {row}"));
        }
        for (process, Line { key, channel }) in &self.lines {
            line(format_args!("c {process} {key} {channel}"));
        }
        Some(text)
    }

    /// Reads the text of a row. It never panics, and neither does any step on the row.
    pub(crate) fn decode(text: &str) -> Result<Self, Malformed> {
        let mut lines = text.lines();
        if lines.next() != Some(VERSION) {
            return Err(Malformed);
        }
        let (mut texts, mut listening) = (Texts::default(), BTreeMap::new());
        for line in lines {
            let (kind, rest) = line.split_once(' ').ok_or(Malformed)?;
            let (name, value) = rest.split_once(' ').ok_or(Malformed)?;
            let known = match kind {
                "s" => texts.settings.insert(name.to_owned(), value.to_owned()).is_some(),
                "r" => texts.rows.insert(name.to_owned(), value.to_owned()).is_some(),
                "c" => {
                    let (key, channel) = value.split_once(' ').ok_or(Malformed)?;
                    let line = Line { key: key.parse().map_err(|_| Malformed)?, channel: channel.to_owned() };
                    listening.insert(name.parse().map_err(|_| Malformed)?, line).is_some()
                }
                _ => true,
            };
            if known {
                return Err(Malformed);
            }
        }
        Ok(Row { allocator: Allocator::of_texts(&texts).ok_or(Malformed)?, lines: listening })
    }
}
