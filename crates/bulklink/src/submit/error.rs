//! Why a submitted operation gave no value.

use alloc::boxed::Box;
use alloc::string::String;
use core::any::Any;
use core::fmt;
use core::mem;

use crate::gate::lock::Lock;
use crate::{Rejection, SpawnError, TimerError};

/// Why an operation was not accepted. It has not begun, and never will.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SubmitError {
    /// The bulkhead did not let it in.
    Rejected(Rejection),
    /// The runtime would not run it. What it had of the bulkhead was given back.
    Refused(SpawnError),
    /// It might have had to wait with a limit, and the runtime has no timer. It was counted nowhere.
    NoTimer(TimerError),
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

impl fmt::Display for SubmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SubmitError::Rejected(rejection) => rejection.fmt(f),
            SubmitError::Refused(error) => error.fmt(f),
            SubmitError::NoTimer(error) => error.fmt(f),
        }
    }
}

/// The cause is all of the text, and so no source besides.
impl core::error::Error for SubmitError {}

/// Why an operation that was taken gave no value.
#[derive(Debug)]
#[non_exhaustive]
pub enum JoinError {
    /// It was in the queue, and its time ran out there, or the bulkhead was closed. It has not begun.
    Rejected(Rejection),
    /// It was [cancelled](super::JoinHandle::cancel).
    Cancelled,
    /// It panicked.
    Panicked(Panic),
    /// The runtime dropped it before its end, as one does that ends itself.
    Lost,
}

impl JoinError {
    pub(crate) fn panicked(payload: Box<dyn Any + Send>) -> Self {
        JoinError::Panicked(Panic { payload: Lock::new(payload) })
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinError::Rejected(rejection) => rejection.fmt(f),
            JoinError::Cancelled => f.write_str("the operation was cancelled"),
            JoinError::Panicked(panic) => panic.fmt(f),
            JoinError::Lost => f.write_str("the runtime dropped the operation before its end"),
        }
    }
}

impl core::error::Error for JoinError {}

/// What an operation panicked with.
pub struct Panic {
    /// Locked as it may be shared, which what is in it need not bear.
    payload: Lock<Box<dyn Any + Send>>,
}

impl Panic {
    /// The value itself, as `std::panic::catch_unwind` gives it.
    #[must_use]
    pub fn into_payload(self) -> Box<dyn Any + Send> {
        self.payload.with(|payload| mem::replace(payload, Box::new(())))
    }

    /// The message, if it is one, as that of `panic!` is.
    #[must_use]
    pub fn message(&self) -> Option<String> {
        self.payload.with(|payload| {
            let literal = payload.downcast_ref::<&'static str>().map(|message| String::from(*message));
            literal.or_else(|| payload.downcast_ref().cloned())
        })
    }

    /// Goes on with the panic, here.
    ///
    /// # Panics
    ///
    /// Always: with the same value, and without telling the panic hook again.
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
