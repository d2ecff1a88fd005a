//! The reason for a missing answer, and its exit code.

use std::fmt;

use bulklink_fleet::{Name, StoreError};

use crate::text::visible;

/// The reason for which the program ends with an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    kind: Kind,
    message: String,
}

/// The exit codes are part of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The standard output is a pipe that has no reader any more. That is no error.
    PipeClosed = 0,
    Unreachable = 1,
    Usage = 2,
    NotFound = 3,
    Conflict = 4,
    Refused = 5,
}

impl Failure {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Failure { kind, message: message.into() }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// The server at an address has no answer.
    pub(crate) fn store(address: &str, error: &StoreError) -> Self {
        let kind = if error.is_refusal() { Kind::Refused } else { Kind::Unreachable };
        Self::new(kind, format!("{address}: {}", explained(error)))
    }

    /// As [`store`](Self::store), for a change, which may have happened if there is no answer.
    pub(crate) fn change(address: &str, error: &StoreError, thing: &str) -> Self {
        match Self::store(address, error) {
            Failure { kind: Kind::Unreachable, message } => {
                Self::new(Kind::Unreachable, format!("{message}; the {thing} may have changed"))
            }
            failure => failure,
        }
    }

    pub(crate) fn not_found(thing: &str, name: &Name) -> Self {
        Self::new(Kind::NotFound, format!("no {thing} {:?} in the namespace {}", name.label(), name.namespace()))
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn code(&self) -> u8 {
        self.kind as u8
    }
}

/// One line without control characters, whatever it contains.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&visible(&self.message))
    }
}

/// The text of an error, with its remedy or cause where the code is no word.
pub(crate) fn explained(error: &StoreError) -> String {
    error.code().and_then(meaning).map_or_else(|| error.to_string(), |text| format!("{error}, {text}"))
}

/// The remedy for a refusal, or its cause. Codes of Redis are words that describe it.
fn meaning(code: &str) -> Option<&'static str> {
    Some(match code {
        "3D000" => "there is no such database",
        "25006" => "the server is a standby, which cannot be written to",
        "3F000" | "42P01" => "tables are missing: `bulklink-ctl setup` creates them",
        "42703" => "the tables are of another version, or columns are missing",
        "42501" => "an administrator gives it by `bulklink-ctl setup --grant`",
        "42704" => "there is no such role",
        "55P03" => "another session has locked the row",
        "VERSION" => "the tables have another version than this program needs",
        "MALFORMED" => "the data cannot be read",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: &str) -> StoreError {
        StoreError::refused(code)
    }

    #[test]
    fn each_error_of_a_store_has_an_exit_code() {
        for (error, code) in [
            (StoreError::UNREACHABLE, 1),
            (StoreError::TIMED_OUT, 1),
            (StoreError::MALFORMED, 1),
            (refused("NOPERM"), 5),
            (StoreError::FULL, 5),
        ] {
            assert_eq!(Failure::store("host:1", &error).code(), code, "{error}");
        }
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let text = |code| Failure::store("db:5432", &refused(code)).to_string();
        assert_eq!(text("28P01"), "db:5432: the store refuses the user or the password: 28P01");
        assert_eq!(text("XX000"), "db:5432: the store refused the command: XX000");
    }

    #[test]
    fn a_message_is_one_line() {
        assert_eq!(Failure::usage("a\nb\u{1b}[1m").to_string(), r"a\u{a}b\u{1b}[1m");
    }
}
