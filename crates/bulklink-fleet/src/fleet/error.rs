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
    #[error("a value of the share is invalid")]
    Invalid(#[source] InvalidArgument),
    /// The process shares another bulkhead of this name.
    #[error("this process shares another bulkhead of this name")]
    Taken,
    /// Other processes have declared other values.
    #[error("the fleet refuses the values that this process declares")]
    Refused(#[source] Refusal),
    /// The store is out of reach, refuses, or has not answered in time.
    #[error("this process has not got a share from the store")]
    Store(#[source] StoreError),
    /// The bulkhead was dropped, or the fleet is closed, or its task is gone.
    #[error("the bulkhead or the fleet is closed")]
    Closed,
}

/// Why the limit was not changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ResizeError {
    /// The limit is zero or too large.
    #[error("the new limit is invalid")]
    Invalid(#[source] InvalidArgument),
    /// The limit is another than this process knew, or there is none.
    #[error("the limit was not changed")]
    Refused(#[source] LimitRefusal),
    /// The store has not answered, or refuses. If it is no [refusal](StoreError::is_refusal), the
    /// limit may have changed.
    #[error("the store has not confirmed the new limit")]
    Store(#[source] StoreError),
}

/// A lease has ended while an operation ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the lease has ended: other processes may have its units")]
pub struct LeaseLost;
