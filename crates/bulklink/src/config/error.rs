//! The errors of a configuration, and why it was not applied.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// A reason against a configuration: the path of a value or a section, and the error.
///
/// ```
/// # use bulklink::config::Config;
/// let mut config = Config::default();
/// config.bulkheads.entry("db.eu".into()).or_default().parallelism = Some(0);
/// let error = config.check().unwrap_err();
/// let problem = &error.problems()[0];
/// assert_eq!(problem.path(), "bulkheads.\"db.eu\".parallelism");
/// assert_eq!(problem.text(), "must be from 1 to 2147483647, got 0");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    path: String,
    text: String,
    /// The path of another section, which the text names.
    similar: Option<String>,
}

impl Problem {
    pub(crate) fn new(path: String, text: String) -> Self {
        Problem { path, text, similar: None }
    }

    /// A section that is missing, and one that may be a misspelling of it.
    pub(super) fn missing(path: String, similar: Option<String>) -> Self {
        let text = match &similar {
            Some(similar) => format!("must be there (is it {similar}, which is not required?)"),
            None => "must be there".into(),
        };
        Problem { path, text, similar }
    }

    /// Replaces `table`, where a path begins with it, by the path of the same sections in a file.
    fn within(self, table: &str, path: &str) -> Self {
        let moved = |of_table: &str| {
            let rest = of_table.strip_prefix(table).unwrap_or(of_table).trim_start_matches('.');
            let dot = if path.is_empty() { "" } else { "." };
            format!("{path}{dot}{rest}")
        };
        match self.similar {
            None => Problem { path: moved(&self.path), ..self },
            Some(similar) => Problem::missing(moved(&self.path), Some(moved(&similar))),
        }
    }

    /// Returns the path of the value or the section, as TOML writes it. A key of partitions is part
    /// of the path of its limits.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the error: a text that follows the path grammatically.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Writes the path and the error, in one line.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.path, self.text)
    }
}

/// Everything that is wrong with a configuration, in its order: at least one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    problems: Vec<Problem>,
}

impl ConfigError {
    /// Returns the error for these problems, if there are any.
    #[doc(hidden)]
    pub fn unless_none(problems: Vec<Problem>) -> Result<(), ConfigError> {
        if problems.is_empty() { Ok(()) } else { Err(ConfigError { problems }) }
    }

    #[doc(hidden)]
    #[must_use]
    pub fn of(problem: Problem) -> Self {
        ConfigError { problems: vec![problem] }
    }

    fn within(self, table: &str, path: &str) -> Self {
        ConfigError { problems: self.problems.into_iter().map(|problem| problem.within(table, path)).collect() }
    }

    /// Returns the reasons, at least one.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

/// Writes all reasons in one line.
impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problems.iter().enumerate().try_for_each(|(place, problem)| {
            let separator = if place == 0 { "" } else { "; " };
            write!(f, "{separator}{problem}")
        })
    }
}

impl core::error::Error for ConfigError {}

/// Why a configuration was not [applied](crate::Registry::apply).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApplyError {
    /// The registry is closed.
    Closed,
    /// The registry applies another configuration, and this call may be part of that, or that may
    /// wait for this: it was made by an event handler, a waker, a clock or a function for the
    /// limits of keys. Without the standard library, any call during another one is refused.
    Busy,
    /// The configuration cannot be applied. Nothing was changed.
    Refused(ConfigError),
    /// The configuration could be applied when it was checked, and could not be when it was
    /// applied: a call that asks for more units than the new capacity began to wait meanwhile, say,
    /// or a bulkhead was closed. All earlier changes were undone.
    RolledBack {
        /// The change that failed.
        reason: ConfigError,
        /// The bulkheads and partitions that could not be changed back: one more change came
        /// meanwhile, such as a call that asks for more units than the capacity before.
        not_restored: Vec<Arc<str>>,
    },
}

impl ApplyError {
    /// Returns the reasons against the configuration, such as for a log: none if the registry is
    /// closed or busy.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        match self {
            ApplyError::Refused(reason) | ApplyError::RolledBack { reason, .. } => reason.problems(),
            ApplyError::Closed | ApplyError::Busy => &[],
        }
    }

    /// Replaces `table`, where the path of a reason begins with it, by the path of the same
    /// sections in a file.
    #[doc(hidden)]
    #[must_use]
    pub fn within(self, table: &str, path: &str) -> Self {
        match self {
            ApplyError::Refused(reason) => ApplyError::Refused(reason.within(table, path)),
            ApplyError::RolledBack { reason, not_restored } => {
                ApplyError::RolledBack { reason: reason.within(table, path), not_restored }
            }
            other @ (ApplyError::Closed | ApplyError::Busy) => other,
        }
    }
}

impl From<ConfigError> for ApplyError {
    fn from(error: ConfigError) -> Self {
        ApplyError::Refused(error)
    }
}

/// Says what failed; the [source](core::error::Error::source) has all reasons.
impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ApplyError::Closed => f.write_str("the registry is closed, and applies no configuration"),
            ApplyError::Busy => {
                f.write_str("the registry applies another configuration, and this call may have come from there")
            }
            ApplyError::Refused(_) => f.write_str("the configuration was not applied"),
            ApplyError::RolledBack { not_restored, .. } => {
                f.write_str("the configuration could not be applied to its end, and all was changed back")?;
                if not_restored.is_empty() {
                    return Ok(());
                }
                f.write_str(" but for ")?;
                not_restored.iter().enumerate().try_for_each(|(place, label)| {
                    let separator = if place == 0 { "" } else { ", " };
                    write!(f, "{separator}{label}")
                })
            }
        }
    }
}

impl core::error::Error for ApplyError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            ApplyError::Refused(reason) | ApplyError::RolledBack { reason, .. } => Some(reason),
            ApplyError::Closed | ApplyError::Busy => None,
        }
    }
}
