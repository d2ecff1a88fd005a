//! Leases: the use of a partition by one call, ended on drop.

use alloc::sync::Arc;
use core::ops::Deref;
use core::panic::UnwindSafe;

use bulklink_core::partitions::Lease;

use crate::Rejection;
use crate::gate::shared::Shared;

/// The owner of leases: partitions, whatever the type of their keys.
pub(crate) trait LeaseOwner: Send + Sync {
    /// Ends a lease of the partition that has this bulkhead.
    fn end(&self, lease: Lease, shared: &Shared);

    /// Counts a rejection by the partitions, at the time when its call returns it.
    fn count(&self, rejection: &Rejection);
}

/// For calls that borrow their partitions.
pub(crate) type BorrowedOwner<'a> = &'a (dyn LeaseOwner + 'static);

/// For calls that borrow nothing.
pub(crate) type SharedOwner = Arc<dyn LeaseOwner>;

/// A partition's bulkhead with a lease, which keeps the partition until this is dropped. Waiting
/// calls and slots hold it in place of a plain bulkhead.
pub(crate) struct Leased<L: Deref<Target = dyn LeaseOwner>> {
    shared: Arc<Shared>,
    owner: L,
    /// `None` only while this is dropped.
    lease: Option<Lease>,
}

impl<L: Deref<Target = dyn LeaseOwner>> Leased<L> {
    #[inline]
    pub(crate) fn new(shared: Arc<Shared>, owner: L, lease: Lease) -> Self {
        Leased { shared, owner, lease: Some(lease) }
    }
}

impl<L: Deref<Target = dyn LeaseOwner>> Deref for Leased<L> {
    type Target = Shared;

    #[inline]
    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl<L: Deref<Target = dyn LeaseOwner>> Drop for Leased<L> {
    #[inline]
    fn drop(&mut self) {
        if let Some(lease) = self.lease.take() {
            self.owner.end(lease, &self.shared);
        }
    }
}

/// A panic cannot leave a change incomplete: the only foreign code under the lock compares keys,
/// and runs before anything changes.
impl<L: Deref<Target = dyn LeaseOwner>> UnwindSafe for Leased<L> {}
