//! A bulkhead's figures under its name.

use alloc::sync::Arc;
use core::ops::Deref;

use bulklink_core::Snapshot;

/// A consistent picture of a bulkhead at one moment: a [`Snapshot`], to which it dereferences, with the label.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The bulkhead's name.
    pub label: Arc<str>,
    /// All figures.
    pub snapshot: Snapshot,
}

impl Deref for Status {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        &self.snapshot
    }
}
