//! The errors of a server: codes, and never a text of the server, of the network or of a URL, which
//! could contain credentials or data.

use std::error::Error as _;
use std::io;

use bulklink_fleet::StoreError;
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity};

/// The error of a server that refuses, or that is refused.
pub(crate) fn refused(code: &str) -> StoreError {
    StoreError::Refused { code: code.into() }
}

/// What became of statements.
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub(crate) fn of_statement(error: Error) -> StoreError {
    match error.as_db_error() {
        // The server ends the session.
        Some(error) if matches!(error.parsed_severity(), Some(Severity::Fatal | Severity::Panic)) => {
            StoreError::Unreachable
        }
        Some(error) => of_server(error),
        None => StoreError::Unreachable,
    }
}

/// What became of an attempt to connect.
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub(crate) fn of_connection(error: Error) -> StoreError {
    if let Some(error) = error.as_db_error() {
        // The server starts, stops or recovers.
        let is_passing = error.code().code().starts_with("57P0");
        return if is_passing { StoreError::Unreachable } else { of_server(error) };
    }
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    match source.map(io::Error::kind) {
        Some(io::ErrorKind::TimedOut) => StoreError::TimedOut,
        // Such as a password that the server wants and the URL does not have.
        None if !error.is_closed() && is_of_settings(&error) => refused("28000"),
        _ => StoreError::Unreachable,
    }
}

fn of_server(error: &DbError) -> StoreError {
    match error.code().code() {
        // No memory, or no space.
        "53100" | "53200" => StoreError::Full,
        code if code.len() == 5 && code.bytes().all(|byte| byte.is_ascii_alphanumeric()) => refused(code),
        _ => refused("XX000"),
    }
}

/// Whether the client itself refuses to go on. The kinds of these errors are private, their first
/// words are not.
fn is_of_settings(error: &Error) -> bool {
    let text = error.to_string();
    text.starts_with("authentication error") || text.starts_with("invalid configuration")
}
