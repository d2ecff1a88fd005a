//! Slots: the right to run one operation, given back on drop.

use alloc::sync::Arc;
use core::fmt;
use core::ops::Deref;

use bulklink_core::Grant;

use crate::gate::shared::{GateState, Shared};

/// A grant together with its bulkhead, to which it is given back on drop. `S` borrows, shares or
/// leases the bulkhead.
pub(crate) struct HeldGrant<S: Deref<Target = Shared>> {
    shared: S,
    /// `None` only while this is dropped.
    grant: Option<Grant>,
}

impl<S: Deref<Target = Shared>> HeldGrant<S> {
    #[inline]
    pub(crate) fn new(shared: S, grant: Grant) -> Self {
        HeldGrant { shared, grant: Some(grant) }
    }

    /// Gives the grant back to the gate.
    #[cold]
    fn release(&mut self) {
        if let Some(grant) = self.grant.take() {
            self.shared.release(grant);
        }
    }

    /// Gives back an unused grant, which counts as abandoned: its operation has not begun and never
    /// will.
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
            // Only a grant that a word gave may be added to the word without a look at it first;
            // see `Word::RELEASE`.
            if !(grant.is_by_word() && self.shared.try_release(grant)) {
                self.release();
            }
        }
    }
}

/// The right to run one operation, borrowed from its [`Bulkhead`](crate::Bulkhead).
///
/// Dropping it gives the slot back, to the next waiter if there is one. Forgetting it
/// (`mem::forget`) keeps the slot taken forever.
#[must_use = "a slot is given back as soon as it is dropped"]
#[doc(alias = "permit")]
pub struct Slot<'a>(HeldGrant<&'a Shared>);

impl<'a> Slot<'a> {
    #[inline]
    pub(crate) fn new(held: HeldGrant<&'a Shared>) -> Self {
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

/// The right to run one operation, without a borrow: it can move to another task or into a layer.
///
/// Dropping it gives the slot back, to the next waiter if there is one. Forgetting it
/// (`mem::forget`) keeps the slot taken forever.
#[must_use = "a slot is given back as soon as it is dropped"]
#[doc(alias = "permit")]
pub struct OwnedSlot(HeldGrant<Arc<Shared>>);

impl OwnedSlot {
    #[inline]
    pub(crate) fn new(held: HeldGrant<Arc<Shared>>) -> Self {
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
