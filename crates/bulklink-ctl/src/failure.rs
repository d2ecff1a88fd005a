//! Why there is no answer, and the exit code that says so.

use std::fmt;

use bulklink_redis::{Name, StoreError};

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
        Self::new(kind_of(error), format!("{address}: {error}"))
    }

    pub(crate) fn not_found(name: &Name) -> Self {
        Self::new(Kind::NotFound, format!("no bulkhead {:?} in the namespace {}", name.label(), name.namespace()))
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

fn kind_of(error: &StoreError) -> Kind {
    match error {
        StoreError::Refused { .. } | StoreError::Full => Kind::Refused,
        _ => Kind::Unreachable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_of_a_store_has_an_exit_code() {
        for (error, code) in [
            (StoreError::Unreachable, 1),
            (StoreError::TimedOut, 1),
            (StoreError::Malformed, 1),
            (StoreError::Refused { code: "NOPERM".into() }, 5),
            (StoreError::Full, 5),
        ] {
            assert_eq!(Failure::store("host:1", &error).code(), code, "{error}");
        }
    }

    #[test]
    fn a_message_is_one_line() {
        assert_eq!(Failure::usage("a\nb\u{1b}[1m").to_string(), r"a\u{a}b\u{1b}[1m");
    }
}
