//! The slots that calls are given: a claim with a grant, under its public names.

use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

use crate::acquire::claim::Claim;
use crate::gate::shared::Shared;

/// The right to run one operation, borrowed from its [`Bulkhead`](crate::Bulkhead).
///
/// Dropping it gives the slot back, to the next waiter if there is one. Forgetting it
/// (`mem::forget`) keeps the slot taken forever.
#[must_use = "a slot is given back as soon as it is dropped"]
#[doc(alias = "permit")]
pub struct Slot<'a>(Claim<&'a Shared>);

impl<'a> Slot<'a> {
    #[inline]
    pub(crate) fn new(claim: Claim<&'a Shared>) -> Self {
        Slot(claim)
    }

    /// Returns the number of units that this slot holds.
    #[must_use]
    pub fn cost(&self) -> usize {
        self.0.cost()
    }

    /// Returns how long the call waited until it was handed this slot; zero if it did not wait. It
    /// is rounded down by less than one part in 60 million.
    ///
    /// If waits are not [measured](crate::Builder::measure_waits), it is zero for a call that had
    /// no limit or deadline.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.0.waited()
    }
}

impl fmt::Debug for Slot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe("Slot", f)
    }
}

/// The right to run one operation, without a borrow: it can move to another task or into a layer.
///
/// Dropping it gives the slot back, to the next waiter if there is one; a slot of a
/// [partition](crate::Partitions) then leaves the partition. Forgetting it (`mem::forget`) keeps
/// the slot taken, and the partition in use, forever.
#[must_use = "a slot is given back as soon as it is dropped"]
#[doc(alias = "permit")]
pub struct OwnedSlot(Claim<Arc<Shared>>);

impl OwnedSlot {
    #[inline]
    pub(crate) fn new(claim: Claim<Arc<Shared>>) -> Self {
        OwnedSlot(claim)
    }

    /// Returns the number of units that this slot holds.
    #[must_use]
    pub fn cost(&self) -> usize {
        self.0.cost()
    }

    /// Returns how long the call waited until it was handed this slot; zero if it did not wait. It
    /// is rounded down by less than one part in 60 million.
    ///
    /// If waits are not [measured](crate::Builder::measure_waits), it is zero for a call that had
    /// no limit or deadline.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.0.waited()
    }
}

impl fmt::Debug for OwnedSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe("OwnedSlot", f)
    }
}
