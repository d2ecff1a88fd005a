//! The behaviour of a test on a machine that lacks a program it needs.

use std::io::Write;
use std::{env, fmt, io};

/// A program that this machine lacks.
#[derive(Clone, Debug)]
pub struct Missing(pub(crate) String);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}

impl Missing {
    /// Writes on the standard error that the test is skipped.
    ///
    /// # Panics
    ///
    /// Panics with `CI=true` or `BULKLINK_REQUIRE_SERVERS=1`, where no test may be skipped.
    pub fn skip(&self, place: &str) {
        let value = |name| env::var(name).unwrap_or_default();
        let is_required = is_required(&value("CI"), &value("BULKLINK_REQUIRE_SERVERS"));
        assert!(!is_required, "{self}, and this test must not be skipped");
        self.say_skipped(place);
    }

    /// Writes it, and never panics: for things that a machine cannot be given, such as rights.
    pub fn say_skipped(&self, place: &str) {
        // Not by `eprintln`, because the test harness keeps that text to itself; and in one piece.
        let _ = io::stderr().write_all(format!("SKIPPED: {place}: {self}\n").as_bytes());
    }
}

fn is_required(ci: &str, servers: &str) -> bool {
    ci == "true" || servers == "1"
}

/// Returns the value of a `Result<T, Missing>`, or skips the test.
#[macro_export]
macro_rules! require {
    ($server:expr) => {
        match $server {
            Ok(server) => server,
            Err(missing) => return $crate::Missing::skip(&missing, concat!(file!(), ":", line!())),
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ci_and_the_variable_require_a_server() {
        for (ci, servers, required) in
            [("", "", false), ("false", "0", false), ("true", "", true), ("", "1", true), ("true", "0", true)]
        {
            assert_eq!(is_required(ci, servers), required, "CI={ci} BULKLINK_REQUIRE_SERVERS={servers}");
        }
    }
}
