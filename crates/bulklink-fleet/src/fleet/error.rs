//! Why a share was not made, a limit was not changed, and an operation was dropped.

use std::error::Error;
use std::fmt;

use bulklink::InvalidArgument;

use crate::StoreError;
use crate::share::{LimitRefusal, Refusal};

/// Why a share was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JoinError {
    /// A value is missing or invalid.
    Invalid(InvalidArgument),
    /// The process shares another bulkhead of this name.
    Taken,
    /// Other processes have declared other values.
    Refused(Refusal),
    /// The store has not answered in time, because of this, as far as is known.
    Unreached(Option<StoreError>),
    /// The bulkhead was dropped, or the fleet is closed, or its task is gone.
    Closed,
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(invalid) => invalid.fmt(f),
            Self::Taken => f.write_str("this process shares another bulkhead of this name"),
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Unreached(Some(error)) => error.fmt(f),
            Self::Unreached(None) => f.write_str("the store has not answered"),
            Self::Closed => f.write_str("the bulkhead or the fleet is closed"),
        }
    }
}

impl Error for JoinError {}

/// Why the limit was not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResizeError {
    /// The limit is zero or too large.
    Invalid(InvalidArgument),
    /// The limit is another than this process knew, or there is none.
    Refused(LimitRefusal),
    /// The store has not answered. The limit may have changed.
    Unavailable(StoreError),
}

impl fmt::Display for ResizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(invalid) => invalid.fmt(f),
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Unavailable(error) => error.fmt(f),
        }
    }
}

impl Error for ResizeError {}

/// A lease has ended while an operation ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseLost;

impl fmt::Display for LeaseLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the lease has ended: other processes may have its units")
    }
}

impl Error for LeaseLost {}
