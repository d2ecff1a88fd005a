//! The right to run, given back on drop.

use alloc::sync::Arc;
use core::fmt;
use core::ops::Deref;

use bulklink_core::Grant;

use crate::gate::shared::{GateState, Shared};

/// A grant that finds its way home, however its bulkhead is held.
pub(crate) struct HeldGrant<S: Deref<Target = Shared>> {
    shared: S,
    /// Gone only while being dropped.
    grant: Option<Grant>,
}

impl<S: Deref<Target = Shared>> HeldGrant<S> {
    #[inline]
    pub(crate) fn new(shared: S, grant: Grant) -> Self {
        HeldGrant { shared, grant: Some(grant) }
    }

    #[cold]
    fn release(&mut self) {
        if let Some(grant) = self.grant.take() {
            self.shared.release(grant);
        }
    }

    /// Gives back what was never used: the operation has not begun and never will.
    #[cold]
    pub(crate) fn abandon(mut self) {
        let now = self.shared.now();
        if let Some(grant) = self.grant.take() {
            self.shared.input(|GateState { gate, .. }| {
                gate.abandon(grant);
                gate.advance(Some(now));
            });
        }
    }

    pub(crate) fn cost(&self) -> usize {
        self.grant.as_ref().map_or(0, Grant::cost)
    }

    pub(crate) fn describe(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(name).field("label", self.shared.label()).field("cost", &self.cost()).finish()
    }
}

impl<S: Deref<Target = Shared>> Drop for HeldGrant<S> {
    #[inline]
    fn drop(&mut self) {
        if let Some(grant) = &self.grant {
            if !(grant.is_by_word() && self.shared.try_release(grant)) {
                self.release();
            }
        }
    }
}

/// The right to run one operation, borrowed from its [`Bulkhead`](crate::Bulkhead). Dropping it gives the slot to the next.
///
/// Forgetting it (`mem::forget`) keeps the slot taken for good.
#[must_use = "a slot is given back as soon as it is dropped"]
#[doc(alias = "permit")]
pub struct Slot<'a>(HeldGrant<&'a Shared>);

impl<'a> Slot<'a> {
    #[inline]
    pub(crate) fn new(held: HeldGrant<&'a Shared>) -> Self {
        Slot(held)
    }

    /// The units that it holds.
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

/// The right to run one operation, for tasks and layers that outlive the borrow. Dropping it gives the slot to the next.
///
/// Forgetting it (`mem::forget`) keeps the slot taken for good.
#[must_use = "a slot is given back as soon as it is dropped"]
#[doc(alias = "permit")]
pub struct OwnedSlot(HeldGrant<Arc<Shared>>);

impl OwnedSlot {
    #[inline]
    pub(crate) fn new(held: HeldGrant<Arc<Shared>>) -> Self {
        OwnedSlot(held)
    }

    /// The units that it holds.
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
