//! Failures as the users of a store see them.

use bulklink_fleet::StoreError;

use crate::failure::Failure;

pub(crate) fn store_error(failure: &Failure) -> StoreError {
    match failure {
        Failure::Lost => StoreError::Unreachable,
        Failure::TimedOut => StoreError::TimedOut,
        Failure::Full => StoreError::Full,
        Failure::Refused(code) => refused(code),
    }
}

/// The error of a server that refuses, or that is refused.
pub(crate) fn refused(code: &str) -> StoreError {
    StoreError::Refused { code: code.into() }
}
