//! Where a value stands in a configuration, as its path in TOML.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use core::fmt;

use super::Problem;
use crate::label::{self, quoted};

/// The section of a bulkhead, of partitions, or of one of their keys.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub(crate) table: &'a str,
    pub(crate) label: &'a str,
    pub(crate) key: Option<&'a str>,
}

/// The path of a section in an error begins with this.
pub(crate) const BULKHEADS: &str = "bulkheads";
pub(crate) const PARTITIONS: &str = "partitions";

impl<'a> Place<'a> {
    /// Names a section by its table and its label.
    #[must_use]
    pub fn new(table: &'a str, label: &'a str) -> Self {
        Place { table, label, key: None }
    }

    pub(crate) fn key(self, key: &'a str) -> Self {
        Place { key: Some(key), ..self }
    }

    /// Returns the label as it is kept.
    ///
    /// # Errors
    ///
    /// If it is invalid.
    pub fn label(&self) -> Result<Arc<str>, Problem> {
        label::check(self.label).map_err(|invalid| self.problem(format_args!("has no valid label: {invalid}")))
    }

    /// Returns an error of the whole section.
    #[must_use]
    pub fn problem(&self, text: impl fmt::Display) -> Problem {
        Problem::new(self.to_string(), text.to_string())
    }

    /// Returns an error of a field of it.
    #[must_use]
    pub fn field(&self, field: &str, text: impl fmt::Display) -> Problem {
        Problem::new(format!("{self}.{field}"), text.to_string())
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.table, segment(self.label))?;
        self.key.map_or(Ok(()), |key| write!(f, ".keys.{}", segment(key)))
    }
}

/// Returns a key of TOML: in quotation marks if it needs them, and never with characters that a
/// terminal would not show.
fn segment(name: &str) -> String {
    let is_bare = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    if !name.is_empty() && name.chars().all(is_bare) {
        name.into()
    } else {
        quoted(&name.replace('\\', r"\\").replace('"', "\\\""))
    }
}
