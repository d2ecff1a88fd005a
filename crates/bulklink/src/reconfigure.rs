//! Changing the limits of a bulkhead or of partitions while calls run: the answer and the errors.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use bulklink_core::{InvalidArgument, Limits, Rounded};

/// Returns why a bulkhead cannot have these limits: a reason for each that is invalid.
/// `largest_cost` is the largest cost of a waiting call.
pub(crate) fn invalid(limits: &Limits, largest_cost: usize) -> impl Iterator<Item = InvalidArgument> {
    limits.invalid(largest_cost).chain(unused_wait_limit(limits))
}

/// Returns an error if the limits bound the wait, and no call can wait. The gate accepts that, but
/// the user cannot have meant it.
pub(crate) fn unused_wait_limit(limits: &Limits) -> Option<InvalidArgument> {
    let limit = limits.wait_limit.filter(|limit| limits.waiting_room == 0 && !limit.is_zero())?;
    Some(InvalidArgument::new("wait_limit", Rounded(limit), "must not be set without a waiting room"))
}

/// Why limits were not changed. The reasons name no bulkhead.
pub(crate) enum Refused {
    Closed,
    Invalid(Vec<InvalidArgument>),
}

/// The changes of a [reconfiguration](crate::Handle::reconfigure).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reconfigured {
    /// The limits before.
    pub previous: Limits,
    /// The limits after.
    pub limits: Limits,
    /// The number of waiting calls that it admitted.
    pub admitted: usize,
    /// Whether a partition has others than before, which may be those of its key.
    pub(crate) keys_changed: bool,
}

impl Reconfigured {
    /// Returns whether a limit has changed: of the bulkhead, or of any partition.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.previous != self.limits || self.keys_changed
    }
}

/// Why a [resize](crate::Handle::resize) failed. It has changed nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResizeError {
    /// The bulkhead is closed.
    Closed {
        /// Its name.
        label: Arc<str>,
    },
    /// The capacity is out of range, or less than a waiting call asks for.
    Invalid(InvalidArgument),
}

impl fmt::Display for ResizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResizeError::Closed { label } => write!(f, "bulkhead {label}: closed, and cannot be resized"),
            ResizeError::Invalid(_) => f.write_str("the capacity was not changed"),
        }
    }
}

impl core::error::Error for ResizeError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            ResizeError::Invalid(invalid) => Some(invalid),
            ResizeError::Closed { .. } => None,
        }
    }
}

/// Why a [reconfiguration](crate::Handle::reconfigure) failed. It has changed no limit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReconfigureError {
    /// The bulkhead is closed, or the partitions are.
    Closed {
        /// Its name, or theirs.
        label: Arc<str>,
    },
    /// Limits are invalid: the reason for each of them, in the order of the fields of [`Limits`].
    Invalid(Vec<InvalidArgument>),
}

impl ReconfigureError {
    /// Returns the error for these reasons of `owner`, with the names that the user knows.
    pub(crate) fn invalid(
        reasons: impl Iterator<Item = InvalidArgument>,
        owner: impl fmt::Display,
        capacity_field: &'static str,
    ) -> Self {
        let named = reasons.map(|reason| match reason.field() {
            "capacity" => reason.for_field(capacity_field),
            _ => reason,
        });
        ReconfigureError::Invalid(named.map(|reason| reason.of(&owner)).collect())
    }
}

/// Writes all reasons.
impl fmt::Display for ReconfigureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons = match self {
            ReconfigureError::Closed { label } => {
                return write!(f, "bulkhead {label}: closed, and cannot be reconfigured");
            }
            ReconfigureError::Invalid(reasons) => reasons,
        };
        reasons.iter().enumerate().try_for_each(|(place, reason)| {
            let separator = if place == 0 { "" } else { "; " };
            write!(f, "{separator}{reason}")
        })
    }
}

impl core::error::Error for ReconfigureError {}
