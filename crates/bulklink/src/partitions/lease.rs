//! The use of a partition by one call, which ends when it is dropped.

use alloc::sync::Arc;
use core::ops::Deref;
use core::panic::UnwindSafe;

use bulklink_core::partitions::Lease;

use crate::Rejection;
use crate::gate::shared::Shared;

/// What leases go back to, whatever its keys are.
pub(crate) trait LeaseOwner: Send + Sync {
    /// Ends a lease of the partition with this bulkhead.
    fn end(&self, lease: Lease, shared: &Shared);

    /// Counts a rejection by the partitions, when its call is told.
    fn count(&self, rejection: &Rejection);
}

/// Borrowed with the partitions.
pub(crate) type BorrowedOwner<'a> = &'a (dyn LeaseOwner + 'static);

/// For what outlives the borrow.
pub(crate) type SharedOwner = Arc<dyn LeaseOwner>;

/// A partition's bulkhead, which is kept for as long as this is held. It stands where others hold a bulkhead: in a call that waits,
/// and behind a slot.
pub(crate) struct Leased<L: Deref<Target = dyn LeaseOwner>> {
    shared: Arc<Shared>,
    owner: L,
    /// Gone only while being dropped.
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

/// No panic can interrupt a change half-way: of what is foreign, only comparing keys runs inside of one, and before anything changes.
impl<L: Deref<Target = dyn LeaseOwner>> UnwindSafe for Leased<L> {}
