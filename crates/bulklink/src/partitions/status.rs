//! The figures of partitions under their name.

use alloc::sync::Arc;
use core::ops::Deref;

use bulklink_core::partitions::Snapshot;

/// A consistent picture of partitions at one moment: a [`Snapshot`], to which it dereferences, with the label. It shows no key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The name of them all.
    pub label: Arc<str>,
    /// What each partition begins with. One that was resized since may have another capacity.
    pub each: crate::Limits,
    /// All figures.
    pub snapshot: Snapshot,
}

impl Deref for Status {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        &self.snapshot
    }
}
