//! The error of a call behind a guard.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bulklink::Rejection;
use bulklink::runtime::SpawnError;

use crate::OpenCircuit;
use crate::breaker::RunLimit;

/// The error of an operation behind a [`Guard`](crate::Guard).
#[derive(Debug)]
#[non_exhaustive]
pub enum GuardError<E> {
    /// The circuit was open. The operation has not begun.
    Open(OpenCircuit),
    /// The bulkhead rejected the call, for the reason that the rejection has: it was full, the wait
    /// limit passed, or it was closed. The operation has not begun.
    Rejected(Rejection),
    /// The operation ran for longer than its limit.
    TimedOut(TimedOut),
    /// The runtime refused or dropped a closure, or no thread was free for it within the run limit.
    /// It has not begun, and never will.
    Refused(SpawnError),
    /// The operation failed with this error.
    Operation(E),
}

impl<E> GuardError<E> {
    /// Returns the operation's own error.
    #[must_use]
    pub fn operation(self) -> Option<E> {
        match self {
            GuardError::Operation(error) => Some(error),
            _ => None,
        }
    }

    /// Returns whether the operation has not begun, so that it can be repeated elsewhere safely.
    #[must_use]
    pub const fn has_not_begun(&self) -> bool {
        matches!(self, GuardError::Open(_) | GuardError::Rejected(_) | GuardError::Refused(_))
    }

    /// Returns the error of the guard's part or of the operation as a boxed error, for a chain of
    /// layers or for `?`. The operation's own may be boxed already, or be one of `anyhow`, which
    /// are no `Error`.
    #[must_use]
    pub fn into_boxed(self) -> Box<dyn Error + Send + Sync>
    where
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        match self {
            GuardError::Open(open) => open.into(),
            GuardError::Rejected(rejection) => rejection.into(),
            GuardError::TimedOut(timed_out) => timed_out.into(),
            GuardError::Refused(refused) => refused.into(),
            GuardError::Operation(error) => error.into(),
        }
    }
}

impl<E> From<OpenCircuit> for GuardError<E> {
    fn from(open: OpenCircuit) -> Self {
        GuardError::Open(open)
    }
}

impl<E> From<Rejection> for GuardError<E> {
    fn from(rejection: Rejection) -> Self {
        GuardError::Rejected(rejection)
    }
}

impl<E> From<SpawnError> for GuardError<E> {
    fn from(refused: SpawnError) -> Self {
        GuardError::Refused(refused)
    }
}

/// Names the failed step; the [source](Error::source) has the cause.
impl<E> fmt::Display for GuardError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GuardError::Open(_) => "the circuit is open",
            GuardError::Rejected(_) => "the call was not admitted",
            GuardError::TimedOut(_) => "the run limit has ended the operation",
            GuardError::Refused(_) => "the closure was not run",
            GuardError::Operation(_) => "the operation failed",
        })
    }
}

impl<E: Error + 'static> Error for GuardError<E> {
    /// Returns the error of the guard's part, or the operation's own.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            GuardError::Open(open) => Some(open),
            GuardError::Rejected(rejection) => Some(rejection),
            GuardError::TimedOut(timed_out) => Some(timed_out),
            GuardError::Refused(refused) => Some(refused),
            GuardError::Operation(error) => Some(error),
        }
    }
}

/// The error of an operation that ran for longer than its limit.
///
/// A wait for a slot that takes too long is a [`Rejection`] instead.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimedOut {
    /// The name of the guard's bulkhead.
    pub label: Arc<str>,
    /// The limit.
    pub limit: Duration,
}

impl TimedOut {
    pub(super) fn new(label: Arc<str>, limit: Option<RunLimit>) -> Self {
        TimedOut { label, limit: limit.map(RunLimit::duration).unwrap_or_default() }
    }
}

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "guard {}: the operation ran for longer than {:?}", self.label, self.limit)
    }
}

impl Error for TimedOut {}
