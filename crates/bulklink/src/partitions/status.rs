//! The labelled snapshot of partitions.

use alloc::sync::Arc;
use core::ops::Deref;

use bulklink_core::partitions::Snapshot;

use super::SharedStatus;

/// A consistent [`Snapshot`] of partitions at one moment, with their label.
///
/// It dereferences to the snapshot. It shows no key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The name of the partitions.
    pub label: Arc<str>,
    /// The limits that each partition begins with. A partition that was given others, by its handle
    /// or [by its key](super::Builder::limits_for), has these.
    pub each: crate::Limits,
    /// Whether the partitions are [paused](crate::Partitions::pause), and so a new one begins
    /// paused.
    pub is_paused: bool,
    /// How often a handler of events has panicked, in all partitions.
    pub handler_panics: usize,
    /// How many events no handler was called for, in all partitions, as [of one
    /// bulkhead](crate::Status::dropped_events).
    pub dropped_events: usize,
    /// The figures of the capacity that all partitions
    /// [share](super::Builder::shared_capacity), if they do.
    pub shared: Option<SharedStatus>,
    /// The figures.
    pub snapshot: Snapshot,
}

impl Deref for Status {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        &self.snapshot
    }
}
