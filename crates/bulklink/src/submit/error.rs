//! The errors of submitting an operation and of joining it.

use alloc::boxed::Box;
use alloc::string::String;
use core::any::Any;
use core::fmt;
use core::mem;

use crate::gate::lock::Lock;
use crate::{Rejection, SpawnError, TimerError};

/// The reason why an operation was not accepted. It has not begun, and never will.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SubmitError {
    /// The bulkhead rejected it.
    Rejected(Rejection),
    /// The runtime refused to run it. Its slot or its place in the queue was given back.
    Refused(SpawnError),
    /// The call could have had to wait with a limit, and the runtime has no timer. It was not
    /// counted.
    NoTimer(TimerError),
}

impl SubmitError {
    /// Returns the rejection, if the bulkhead rejected the operation.
    #[must_use]
    pub fn rejection(&self) -> Option<&Rejection> {
        match self {
            SubmitError::Rejected(rejection) => Some(rejection),
            _ => None,
        }
    }
}

impl From<Rejection> for SubmitError {
    fn from(rejection: Rejection) -> Self {
        SubmitError::Rejected(rejection)
    }
}

impl From<SpawnError> for SubmitError {
    fn from(error: SpawnError) -> Self {
        SubmitError::Refused(error)
    }
}

impl From<TimerError> for SubmitError {
    fn from(error: TimerError) -> Self {
        SubmitError::NoTimer(error)
    }
}

/// Names the failed step; the [source](core::error::Error::source) has the cause.
impl fmt::Display for SubmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SubmitError::Rejected(_) => "the call was not admitted",
            SubmitError::Refused(_) => "the operation was not run",
            SubmitError::NoTimer(_) => "the call cannot wait with a limit",
        })
    }
}

impl core::error::Error for SubmitError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(match self {
            SubmitError::Rejected(rejection) => rejection,
            SubmitError::Refused(error) => error,
            SubmitError::NoTimer(error) => error,
        })
    }
}

/// The reason why an accepted operation returned no value.
#[derive(Debug)]
#[non_exhaustive]
pub enum JoinError {
    /// It was in the queue when the wait limit passed or the bulkhead was closed. It has not begun.
    Rejected(Rejection),
    /// It was [cancelled](super::JoinHandle::cancel).
    Cancelled,
    /// It panicked.
    Panicked(Panic),
    /// The runtime dropped it before its end, for example because the runtime shut down.
    Lost,
}

impl JoinError {
    /// Returns the rejection, if the bulkhead rejected the operation.
    #[must_use]
    pub fn rejection(&self) -> Option<&Rejection> {
        match self {
            JoinError::Rejected(rejection) => Some(rejection),
            _ => None,
        }
    }

    pub(crate) fn panicked(payload: Box<dyn Any + Send>) -> Self {
        JoinError::Panicked(Panic { payload: Lock::new(payload) })
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinError::Rejected(_) => f.write_str("the call was not admitted"),
            JoinError::Cancelled => f.write_str("the operation was cancelled"),
            JoinError::Panicked(panic) => panic.fmt(f),
            JoinError::Lost => f.write_str("the runtime dropped the operation before its end"),
        }
    }
}

impl core::error::Error for JoinError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(self.rejection()?)
    }
}

/// The payload of a panic of an operation.
pub struct Panic {
    /// Behind a lock so that `Panic` is `Sync`: the payload is only `Send`.
    payload: Lock<Box<dyn Any + Send>>,
}

impl Panic {
    /// Returns the payload, as `std::panic::catch_unwind` returns it.
    #[must_use]
    pub fn into_payload(self) -> Box<dyn Any + Send> {
        self.payload.with(|payload| mem::replace(payload, Box::new(())))
    }

    /// Returns the message, if the payload is one, as that of `panic!` is.
    #[must_use]
    pub fn message(&self) -> Option<String> {
        self.payload.with(|payload| {
            let literal = payload.downcast_ref::<&'static str>().map(|message| String::from(*message));
            literal.or_else(|| payload.downcast_ref().cloned())
        })
    }

    /// Resumes the panic on this thread.
    ///
    /// # Panics
    ///
    /// Always: with the same payload, and without calling the panic hook again.
    #[cfg(feature = "std")]
    pub fn resume(self) -> ! {
        std::panic::resume_unwind(self.into_payload())
    }
}

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message() {
            Some(message) => write!(f, "the operation panicked: {message}"),
            None => f.write_str("the operation panicked"),
        }
    }
}

impl fmt::Debug for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Panic").field("message", &self.message()).finish_non_exhaustive()
    }
}
