//! Why a share was not made, a limit was not changed, and an operation was dropped.

use bulklink::InvalidArgument;
use thiserror::Error;

use crate::StoreError;
use crate::share::{LimitRefusal, Refusal};

/// Why a share was not made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum JoinError {
    /// A value is missing or invalid.
    #[error(transparent)]
    Invalid(InvalidArgument),
    /// The process shares another bulkhead of this name.
    #[error("this process shares another bulkhead of this name")]
    Taken,
    /// Other processes have declared other values.
    #[error(transparent)]
    Refused(Refusal),
    /// The store has not answered in time, because of this, as far as is known.
    #[error("{}", .0.as_ref().map_or_else(|| "the store has not answered".to_owned(), ToString::to_string))]
    Unreached(Option<StoreError>),
    /// The bulkhead was dropped, or the fleet is closed, or its task is gone.
    #[error("the bulkhead or the fleet is closed")]
    Closed,
}

/// Why the limit was not changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ResizeError {
    /// The limit is zero or too large.
    #[error(transparent)]
    Invalid(InvalidArgument),
    /// The limit is another than this process knew, or there is none.
    #[error(transparent)]
    Refused(LimitRefusal),
    /// The store has not answered. The limit may have changed.
    #[error(transparent)]
    Unavailable(StoreError),
}

/// A lease has ended while an operation ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the lease has ended: other processes may have its units")]
pub struct LeaseLost;
