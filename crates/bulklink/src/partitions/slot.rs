//! Slots of a partition: the right to run one operation there, given back on drop.

use core::fmt;

use super::lease::{BorrowedOwner, Leased, SharedOwner};
use crate::acquire::slot::HeldGrant;

/// The right to run one operation in a partition, borrowed from its
/// [`Partitions`](crate::Partitions).
///
/// Dropping it gives the slot back, to the partition's next waiter if there is one, and then ends
/// the lease of the partition. Forgetting it (`mem::forget`) keeps the slot taken, and the
/// partition leased, forever.
#[must_use = "a slot is given back as soon as it is dropped"]
#[doc(alias = "permit")]
pub struct Slot<'a>(HeldGrant<Leased<BorrowedOwner<'a>>>);

impl<'a> Slot<'a> {
    #[inline]
    pub(super) fn new(held: HeldGrant<Leased<BorrowedOwner<'a>>>) -> Self {
        Slot(held)
    }

    /// Returns the number of units that this slot holds.
    #[must_use]
    pub fn cost(&self) -> usize {
        self.0.cost()
    }
}

impl fmt::Debug for Slot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe("Slot", f)
    }
}

/// The right to run one operation in a partition, without a borrow: it can move to another task or
/// into a layer.
///
/// Dropping it gives the slot back, to the partition's next waiter if there is one, and then ends
/// the lease of the partition. Forgetting it (`mem::forget`) keeps the slot taken, and the
/// partition leased, forever.
#[must_use = "a slot is given back as soon as it is dropped"]
#[doc(alias = "permit")]
pub struct OwnedSlot(HeldGrant<Leased<SharedOwner>>);

impl OwnedSlot {
    #[inline]
    pub(super) fn new(held: HeldGrant<Leased<SharedOwner>>) -> Self {
        OwnedSlot(held)
    }

    /// Returns the number of units that this slot holds.
    #[must_use]
    pub fn cost(&self) -> usize {
        self.0.cost()
    }
}

impl fmt::Debug for OwnedSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe("OwnedSlot", f)
    }
}
