//! A call's hold of its bulkhead, from its start to the drop of its slot.

use alloc::sync::Arc;
use core::fmt;
use core::ops::Deref;
use core::panic::RefUnwindSafe;
use core::ptr;
use core::time::Duration;

use bulklink_core::limit::Outcome;
use bulklink_core::partitions::{self, Id};
use bulklink_core::{Grant, Request};

use crate::Rejection;
use crate::gate::shared::{Shared, hint};

/// A call's hold of its bulkhead: a grant, once the call is admitted, and the lease of its
/// partition, if it has one. The drop gives both back, the grant first.
pub(crate) struct Claim<S: SharedRef> {
    shared: S,
    grant: Option<Grant>,
}

/// A call's reference to its bulkhead. A call of a partition has an `Arc`, and has leased the
/// partition before it asks for admission.
pub(crate) trait SharedRef: Deref<Target = Shared> {
    /// Returns the partition that the call has leased.
    fn leased(&self) -> Option<Id>;
}

impl SharedRef for &Shared {
    #[inline]
    fn leased(&self) -> Option<Id> {
        None
    }
}

impl SharedRef for Arc<Shared> {
    #[inline]
    fn leased(&self) -> Option<Id> {
        self.partition()
    }
}

/// The partitions to which a bulkhead belongs, whatever the type of their keys.
pub(crate) trait LeaseOwner: Send + Sync + RefUnwindSafe {
    /// Leases the partition once more, for a call that has a lease of it.
    fn lease_again(&self, partition: Id);

    /// Ends a lease of the partition, which has this bulkhead.
    fn end(&self, partition: Id, shared: &Shared);

    /// Counts a rejection by the partitions, at the time when its call returns it.
    fn count(&self, rejection: &partitions::Rejection);
}

/// A lease of a partition, which ends when this is dropped.
pub(crate) struct Lease<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) partition: Id,
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        self.shared.end_lease(self.partition);
    }
}

impl<S: SharedRef> Claim<S> {
    #[inline]
    pub(crate) fn new(shared: S, grant: Option<Grant>) -> Self {
        Claim { shared, grant }
    }

    /// Makes a claim, and then drops the values that the call needed until then: a timer, which is
    /// foreign and may panic. By then the claim gives back the units that the call holds.
    #[cold]
    pub(crate) fn after<T>(shared: S, grant: Option<Grant>, displaced: T) -> Self {
        let claim = Claim::new(shared, grant);
        drop(displaced);
        claim
    }

    pub(crate) fn label(&self) -> Arc<str> {
        Arc::clone(self.shared.label())
    }

    /// Acquires a grant, if the bulkhead admits the request without a wait.
    #[inline]
    pub(crate) fn try_enter(&mut self, request: &Request) -> Result<(), Rejection> {
        self.shared.try_enter(request, |grant| self.grant = Some(grant))
    }

    /// Gives the grant back to the word. Returns whether nothing is left to release.
    #[inline]
    fn release_by_word(&self) -> bool {
        match &self.grant {
            // Only a grant that a word gave may be added to the word without a look at it first,
            // and only once; see `Word::RELEASE`.
            Some(grant) => grant.is_by_word() && self.shared.fast.release(grant),
            None => true,
        }
    }

    /// Releases the grant, and then ends the lease. Without a lease, the word must have been tried.
    #[cold]
    #[inline(never)]
    fn end(&mut self) {
        // Ended after the rest, also if the clock panics.
        let lease = self.shared.leased().map(|partition| Lease { shared: &self.shared, partition });
        let is_released = lease.is_some() && self.release_by_word();
        if let (Some(grant), false) = (self.grant.take(), is_released) {
            self.shared.release(grant);
        }
    }

    /// Gives back an unused grant, which counts as abandoned: its operation has not begun and never
    /// will.
    #[cold]
    pub(crate) fn abandon(mut self) {
        let now = self.shared.now_if_sound();
        if let Some(grant) = self.grant.take() {
            self.shared.input(|state| state.abandon(grant, now));
        }
    }

    /// Splits units off the grant, for another operation. Returns `None` if one of both would have
    /// no unit.
    #[cold]
    pub(crate) fn split(&mut self, units: usize) -> Option<Claim<S>>
    where
        S: Clone,
    {
        let Claim { shared, grant } = self;
        let part = shared.input(|state| match state.split(grant.take()?, units) {
            Ok((rest, part)) => {
                *grant = Some(rest);
                Some(part)
            }
            Err(whole) => {
                *grant = Some(whole);
                None
            }
        })?;
        if let Some(partition) = shared.leased() {
            shared.lease_again(partition);
        }
        Some(Claim::new(shared.clone(), Some(part)))
    }

    /// Takes over the units of a claim of the same bulkhead. Returns another bulkhead's claim.
    #[cold]
    pub(crate) fn merge(&mut self, mut merged: Claim<S>) -> Result<(), Claim<S>> {
        let Claim { shared, grant } = self;
        if !ptr::eq(ptr::from_ref::<Shared>(shared), ptr::from_ref(&*merged.shared)) {
            return Err(merged);
        }
        let now = shared.now_if_sound();
        shared.input(|state| {
            if let (Some(own), Some(other)) = (grant.take(), merged.grant.take()) {
                *grant = Some(state.merge(own, other, now));
            }
        });
        Ok(())
    }

    /// Ends the operation, and leaves its units in use.
    #[cold]
    pub(crate) fn write_off(mut self) {
        let now = self.shared.now_if_sound();
        if let Some(grant) = self.grant.take() {
            self.shared.input(|state| state.write_off(grant, now));
        }
    }

    /// The operation has completed.
    #[inline]
    pub(crate) fn complete(&self) {
        // The same test as that of the drop: an adaptive limit never judges a grant by the word.
        if !self.grant.as_ref().is_some_and(Grant::is_by_word) {
            self.complete_slowly();
        }
    }

    #[cold]
    #[inline(never)]
    fn complete_slowly(&self) {
        if self.is_judged() {
            self.set_outcome(Some(Outcome::Success));
        }
    }

    /// The operation was cancelled, or may be: at its deadline, its end is an overload.
    #[cold]
    pub(crate) fn cancel(&self) {
        if self.is_judged() {
            self.set_outcome(None);
        }
    }

    /// Returns whether the end of the operation is a sample for an adaptive limit.
    #[inline]
    pub(crate) fn is_judged(&self) -> bool {
        self.grant.as_ref().is_some_and(Grant::is_recorded) && self.shared.has(hint::ADAPTIVE)
    }

    /// Sets how the operation ended, for the adaptive limit.
    #[cold]
    pub(crate) fn set_outcome(&self, outcome: Option<Outcome>) {
        if !self.shared.has(hint::ADAPTIVE) {
            return;
        }
        if let Some(grant) = &self.grant {
            self.shared.beside_the_word(|state| {
                if let Some(calls) = &mut state.calls {
                    calls.set_outcome(grant, outcome);
                }
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

impl<S: SharedRef> Deref for Claim<S> {
    type Target = Shared;

    #[inline]
    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl<S: SharedRef> Drop for Claim<S> {
    #[inline]
    fn drop(&mut self) {
        // All else is one call: with two of them, the compiler would not inline this drop.
        if self.shared.leased().is_some() || !self.release_by_word() {
            self.end();
        }
    }
}
