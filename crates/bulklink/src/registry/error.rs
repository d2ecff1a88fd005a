//! The errors of a registry.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use bulklink_core::InvalidArgument;

use crate::label::{escaped, quoted};
use crate::{ReconfigureError, ResizeError};

/// The reason why a bulkhead, or partitions, were not registered. The registry is unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegisterError {
    /// The registry is closed.
    Closed,
    /// A bulkhead in the registry has this label, or partitions have it.
    Taken {
        /// The label, trimmed.
        label: Arc<str>,
    },
    /// The bulkhead could not be built.
    Invalid(InvalidArgument),
}

impl From<InvalidArgument> for RegisterError {
    fn from(invalid: InvalidArgument) -> Self {
        RegisterError::Invalid(invalid)
    }
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RegisterError::Closed => f.write_str("the registry is closed, and takes in no bulkhead"),
            RegisterError::Taken { label } => {
                let label = quoted(label);
                write!(f, "label must be new, but the registry has it or has not finished removing it, got {label}")
            }
            RegisterError::Invalid(_) => f.write_str("nothing was registered"),
        }
    }
}

impl core::error::Error for RegisterError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            RegisterError::Invalid(invalid) => Some(invalid),
            RegisterError::Closed | RegisterError::Taken { .. } => None,
        }
    }
}

/// All failures of one call for many bulkheads or partitions. The call tried each of them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CollectiveError {
    /// How many bulkheads and partitions the call was for.
    pub tried: usize,
    /// The failures, in the order in which they were tried: at least one.
    pub failures: Vec<MemberFailure>,
}

/// The failure of one bulkhead, or of partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemberFailure {
    /// Its label, or the name for which none was found: trimmed, and otherwise as it was
    /// given. The text of the error has its control and invisible characters escaped.
    pub label: Arc<str>,
    /// Why it failed.
    pub cause: FailureCause,
}

/// The reason why the call failed for one bulkhead, or for partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureCause {
    /// The registry has no bulkhead with this label, nor partitions.
    Unknown,
    /// The label is that of partitions, which have no capacity in common. They can be
    /// [reconfigured](super::Registry::reconfigure_all).
    Partitions,
    /// The resize was refused.
    Resize(ResizeError),
    /// The change of limits was refused.
    Reconfigure(ReconfigureError),
}

impl fmt::Display for FailureCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FailureCause::Unknown => f.write_str("not in the registry"),
            FailureCause::Partitions => f.write_str("partitions, which cannot be resized"),
            FailureCause::Resize(ResizeError::Invalid(invalid)) => invalid.fmt(f),
            FailureCause::Resize(error) => error.fmt(f),
            FailureCause::Reconfigure(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for MemberFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            // These errors name the bulkhead themselves.
            cause @ (FailureCause::Resize(_) | FailureCause::Reconfigure(_)) => cause.fmt(f),
            FailureCause::Partitions => write!(f, "partitions {}: cannot be resized", escaped(&self.label)),
            cause => write!(f, "bulkhead {}: {cause}", escaped(&self.label)),
        }
    }
}

impl fmt::Display for CollectiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} failed", self.failures.len(), self.tried)?;
        self.failures.iter().enumerate().try_for_each(|(place, failure)| {
            f.write_str(if place == 0 { ": " } else { "; " })?;
            failure.fmt(f)
        })
    }
}

impl core::error::Error for CollectiveError {}

impl CollectiveError {
    /// Tries all, and collects all failures.
    pub(super) fn gather<T>(tries: impl Iterator<Item = Result<T, MemberFailure>>) -> Result<Vec<T>, CollectiveError> {
        let (mut done, mut failures) = (Vec::new(), Vec::new());
        for outcome in tries {
            match outcome {
                Ok(value) => done.push(value),
                Err(failure) => failures.push(failure),
            }
        }
        if failures.is_empty() {
            return Ok(done);
        }
        Err(CollectiveError { tried: done.len() + failures.len(), failures })
    }
}
