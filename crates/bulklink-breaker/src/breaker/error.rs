//! The error of a call that a circuit did not let through.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::State;

/// The error of a call that an open circuit rejected: its operation has not begun.
///
/// It is neither a timeout nor an `io::Error`, so a retry layer that matches those does not retry
/// it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenCircuit {
    /// The name of the breaker.
    pub label: Arc<str>,
    /// `Open`, or `HalfOpen` if as many probes ran as may.
    pub state: State,
    /// In what time a call may be let through: the rest of the cool-down. `None` if that is not
    /// known: the circuit is half-open, and closes or opens when its probes have ended, or it stays
    /// open until it is closed by hand.
    pub retry_after: Option<Duration>,
}

impl fmt::Display for OpenCircuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "breaker {}: the circuit is {}", self.label, self.state)?;
        match (self.state, self.retry_after) {
            (State::HalfOpen, _) => f.write_str(", and its probes are running"),
            (_, Some(time)) => write!(f, " for another {time:.1?}"),
            (_, None) => f.write_str(" until it is closed by hand"),
        }
    }
}

impl Error for OpenCircuit {}

/// The error of an operation behind a breaker: it was not let through, or it ran and failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BreakerError<E> {
    /// The circuit was open. The operation has not begun.
    Open(OpenCircuit),
    /// The operation ran, and failed with this error.
    Operation(E),
}

impl<E> BreakerError<E> {
    /// Returns the operation's own error.
    #[must_use]
    pub fn operation(self) -> Option<E> {
        match self {
            BreakerError::Open(_) => None,
            BreakerError::Operation(error) => Some(error),
        }
    }

    /// Returns the open circuit or the operation's error as a boxed error, for a chain of layers or
    /// for `?`. The operation's own may be boxed already, or be one of `anyhow`, which are no
    /// `Error`.
    #[must_use]
    pub fn into_boxed(self) -> Box<dyn Error + Send + Sync>
    where
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        match self {
            BreakerError::Open(open) => open.into(),
            BreakerError::Operation(error) => error.into(),
        }
    }
}

impl<E> From<OpenCircuit> for BreakerError<E> {
    fn from(open: OpenCircuit) -> Self {
        BreakerError::Open(open)
    }
}

/// Names the failed step; the [source](Error::source) has the cause.
impl<E> fmt::Display for BreakerError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BreakerError::Open(_) => "the circuit is open",
            BreakerError::Operation(_) => "the operation failed",
        })
    }
}

impl<E: Error + 'static> Error for BreakerError<E> {
    /// Returns the open circuit, or the operation's own error.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            BreakerError::Open(open) => Some(open),
            BreakerError::Operation(error) => Some(error),
        }
    }
}
