//! What went wrong with a server: codes, and never a text of the server, of the network or of a
//! URL, which could contain credentials or data.

use std::error::Error as _;
use std::io;

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity};

/// Why statements were not run, or perhaps not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// There is no connection, or it has ended: statements on the way may have happened.
    Lost,
    /// The server did not answer in time.
    TimedOut,
    /// The server has no memory or no space. Nothing has happened.
    Full,
    /// The server refused, by this code. Nothing has happened.
    Refused(Box<str>),
}

impl Failure {
    /// What became of statements.
    pub(crate) fn of(error: &Error) -> Self {
        match error.as_db_error() {
            // The server ends the session.
            Some(error) if matches!(error.parsed_severity(), Some(Severity::Fatal | Severity::Panic)) => Failure::Lost,
            Some(error) => Self::of_code(error),
            None => Failure::Lost,
        }
    }

    /// What became of an attempt to connect.
    pub(crate) fn of_connection(error: &Error) -> Self {
        if let Some(error) = error.as_db_error() {
            // The server starts, stops or recovers.
            let is_passing = error.code().code().starts_with("57P0");
            return if is_passing { Failure::Lost } else { Self::of_code(error) };
        }
        let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
        match source.map(io::Error::kind) {
            Some(io::ErrorKind::TimedOut) => Failure::TimedOut,
            // Such as a password that the server wants and the URL does not have.
            None if !error.is_closed() && is_of_settings(error) => Self::refused("28000"),
            _ => Failure::Lost,
        }
    }

    pub(crate) fn refused(code: &str) -> Self {
        Failure::Refused(code.into())
    }

    fn of_code(error: &DbError) -> Self {
        match error.code().code() {
            "53100" | "53200" => Failure::Full,
            code if code.len() == 5 && code.bytes().all(|byte| byte.is_ascii_alphanumeric()) => Self::refused(code),
            _ => Self::refused("XX000"),
        }
    }
}

/// Whether the client itself refuses to go on. The kinds of these errors are private, their first
/// words are not.
fn is_of_settings(error: &Error) -> bool {
    let text = error.to_string();
    text.starts_with("authentication error") || text.starts_with("invalid configuration")
}
