//! What a call holds of its bulkhead, from its start to the drop of its slot.

use alloc::sync::Arc;
use core::convert::Infallible;
use core::fmt;
use core::ops::Deref;
use core::panic::RefUnwindSafe;
use core::time::Duration;

use bulklink_core::partitions::{self, Lease};
use bulklink_core::{Grant, Request};

use crate::Rejection;
use crate::gate::shared::Shared;

/// What a call holds of its bulkhead: a grant, once the call is admitted, and the lease of its
/// partition, if it has one. The drop gives both back, the grant first.
pub(crate) struct Claim<S: SharedRef<L>, L> {
    shared: S,
    grant: Option<Grant>,
    lease: Option<L>,
}

/// A reference to a bulkhead, with leases of type `L`: `Infallible` where there is never a lease,
/// so that nothing is stored or checked for one. `L` is no associated type, because slots would
/// then be invariant in their borrow.
pub(crate) trait SharedRef<L>: Deref<Target = Shared> {
    fn end(&self, lease: L);
}

impl<S: Deref<Target = Shared>> SharedRef<Infallible> for S {
    fn end(&self, lease: Infallible) {
        match lease {}
    }
}

impl SharedRef<Lease> for Arc<Shared> {
    fn end(&self, lease: Lease) {
        self.end_lease(lease);
    }
}

/// The partitions to which a bulkhead belongs, whatever the type of their keys.
pub(crate) trait LeaseOwner: Send + Sync + RefUnwindSafe {
    /// Ends a lease of the partition that has this bulkhead.
    fn end(&self, lease: Lease, shared: &Shared);

    /// Counts a rejection by the partitions, at the time when its call returns it.
    fn count(&self, rejection: &partitions::Rejection);
}

impl<S: SharedRef<L>, L> Claim<S, L> {
    #[inline]
    pub(crate) fn new(shared: S, lease: Option<L>, grant: Option<Grant>) -> Self {
        Claim { shared, grant, lease }
    }

    /// Acquires a grant, if the bulkhead admits the request without a wait.
    #[inline]
    pub(crate) fn try_enter(&mut self, request: &Request) -> Result<(), Rejection> {
        self.shared.try_enter(request, |grant| self.grant = Some(grant))
    }

    /// Releases the grant to the gate, unless the word has it already, and then ends the lease.
    #[cold]
    #[inline(never)]
    fn end(&mut self, is_released: bool) {
        if let (Some(grant), false) = (self.grant.take(), is_released) {
            self.shared.release(grant);
        }
        if let Some(lease) = self.lease.take() {
            self.shared.end(lease);
        }
    }

    /// Gives back an unused grant, which counts as abandoned: its operation has not begun and never
    /// will.
    #[cold]
    pub(crate) fn abandon(mut self) {
        let now = self.shared.now();
        if let Some(grant) = self.grant.take() {
            self.shared.input(|state| {
                state.gate.abandon(match &mut state.calls {
                    Some(calls) => calls.abandon(grant),
                    None => grant,
                });
                state.advance(Some(now));
            });
        }
    }

    pub(crate) fn cost(&self) -> usize {
        let Some(grant) = &self.grant else { return 0 };
        grant.cost().unwrap_or_else(|| {
            self.shared.beside_the_word(|state| state.calls.as_ref().map_or(0, |calls| calls.cost(grant)))
        })
    }

    pub(crate) fn waited(&self) -> Duration {
        Duration::from_nanos(self.grant.as_ref().map_or(0, Grant::waited_nanos))
    }

    pub(crate) fn describe(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(name).field("label", self.shared.label()).field("cost", &self.cost()).finish()
    }
}

impl<S: SharedRef<L>, L> Deref for Claim<S, L> {
    type Target = Shared;

    #[inline]
    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl<S: SharedRef<L>, L> Drop for Claim<S, L> {
    #[inline]
    fn drop(&mut self) {
        // Only a grant that a word gave may be added to the word without a look at it first, and
        // only once; see `Word::RELEASE`.
        let is_released = match &self.grant {
            Some(grant) => grant.is_by_word() && self.shared.fast.release(grant),
            None => true,
        };
        if !is_released || self.lease.is_some() {
            self.end(is_released);
        }
    }
}
