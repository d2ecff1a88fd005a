//! The errors of a server: its codes, and as their causes those of the driver. A server repeats no
//! password, and neither does `tokio_postgres`.

use std::error::Error as _;
use std::io;
use std::sync::Arc;

use bulklink_fleet::StoreError;
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity};

/// The error of a server that refuses, or that is refused.
pub(crate) fn refused(code: &str) -> StoreError {
    StoreError::refused(code)
}

/// What became of statements.
pub(crate) fn of_statement(error: Error) -> StoreError {
    let kind = match error.as_db_error() {
        // The server ends the session.
        Some(error) if matches!(error.parsed_severity(), Some(Severity::Fatal | Severity::Panic)) => {
            StoreError::UNREACHABLE
        }
        Some(error) => of_server(error),
        None => StoreError::UNREACHABLE,
    };
    caused(kind, error)
}

/// What became of an attempt to connect.
pub(crate) fn of_connection(error: Error) -> StoreError {
    let io = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    let kind = match (error.as_db_error(), io.map(io::Error::kind)) {
        // The server starts, stops or recovers.
        (Some(error), _) if error.code().code().starts_with("57P0") => StoreError::UNREACHABLE,
        (Some(error), _) => of_server(error),
        (None, Some(io::ErrorKind::TimedOut)) => StoreError::TIMED_OUT,
        _ if is_of(&error, "error performing TLS handshake") => StoreError::TLS,
        // Such as a password that the server wants and the URL does not have.
        (None, None) if is_of(&error, "authentication error") || is_of(&error, "invalid configuration") => {
            refused("28000")
        }
        _ => StoreError::UNREACHABLE,
    };
    caused(kind, error)
}

fn of_server(error: &DbError) -> StoreError {
    match error.code().code() {
        // No memory, or no space.
        "53100" | "53200" => StoreError::FULL,
        code if code.len() == 5 && code.bytes().all(|byte| byte.is_ascii_alphanumeric()) => refused(code),
        _ => refused("XX000"),
    }
}

/// Whether an error is of a kind: those are private, their first words are not.
fn is_of(error: &Error, kind: &str) -> bool {
    error.to_string().starts_with(kind)
}

/// With the cause of the driver's error, which says more than that.
fn caused(error: StoreError, by: Error) -> StoreError {
    if by.source().is_none() {
        return error.with_source(Arc::new(by));
    }
    match by.into_source() {
        Some(cause) => error.with_source(cause.into()),
        None => error,
    }
}
