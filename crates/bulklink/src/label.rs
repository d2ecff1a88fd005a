//! The name of a bulkhead.

use alloc::sync::Arc;

use bulklink_core::Invalid;

/// A label as it is kept: trimmed, not empty, without control characters.
pub(crate) fn check(label: &str) -> Result<Arc<str>, Invalid> {
    if label.chars().any(char::is_control) {
        return Err(Invalid::new("label", format_args!("{label:?}"), "must not hold control characters"));
    }
    let trimmed = label.trim();
    if trimmed.is_empty() {
        return Err(Invalid::new("label", format_args!("{label:?}"), "must not be blank"));
    }
    Ok(trimmed.into())
}
