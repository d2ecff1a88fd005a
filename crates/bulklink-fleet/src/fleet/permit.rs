//! The right to use units of a fleet's limit.

use std::fmt;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use super::member::Member;
use super::state::Grant;
use crate::Token;

/// The right to use units of a fleet's limit; returned by [`FleetBulkhead::acquire`].
///
/// It is renewed in the background, and given back when it is dropped. If the store is out of reach
/// for too long, it ends by itself: then [`is_valid`](Permit::is_valid) is false and
/// [`lost`](Permit::lost) completes. A process that is stopped and continued can be late to notice
/// that, so a resource that must be safe should compare [tokens](Permit::token).
///
/// [`FleetBulkhead::acquire`]: crate::FleetBulkhead::acquire
#[must_use = "a permit is given back when it is dropped"]
pub struct Permit {
    member: Arc<Member>,
    grant: Grant,
}

impl Permit {
    pub(crate) fn new(member: Arc<Member>, grant: Grant) -> Self {
        Self { member, grant }
    }

    /// Returns the fencing token: larger than that of every permit that was granted before for the
    /// same name. `None` if the store was out of reach, and the policy for outages admitted the
    /// call.
    ///
    /// A resource that remembers the largest token that it has seen, and refuses smaller ones, is
    /// safe from holders that are late. With a limit above one, it refuses some that are not: a
    /// token is that of the grant, and with [`reuse`] or [`idle`], permits that are granted inside
    /// the process continue the numbers of a grant that may be older than those of others.
    ///
    /// [`reuse`]: crate::BulkheadBuilder::reuse
    /// [`idle`]: crate::BulkheadBuilder::idle
    #[must_use]
    pub fn token(&self) -> Option<Token> {
        self.grant.token
    }

    /// Returns the units.
    #[must_use]
    pub fn cost(&self) -> u64 {
        self.grant.cost
    }

    /// Returns how long the call waited.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.grant.waited
    }

    /// Returns whether the store counts this permit for certain, by this process' clock.
    ///
    /// Always true for a permit without a [token](Permit::token).
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.grant.lease.is_none_or(|lease| self.member.with(|state, now| state.is_valid(now, lease)))
    }

    /// Completes when the permit is no longer valid; never for a permit without a
    /// [token](Permit::token). The task of the fleet notices that, so it may be late if its runtime
    /// is; [`is_valid`](Permit::is_valid) is not.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub fn lost(&self) -> impl Future<Output = ()> + Send + '_ {
        poll_fn(|context| match self.grant.lease {
            Some(lease) => self.member.poll(context, |state, waker| state.poll_lost(lease, waker)),
            None => Poll::Pending,
        })
    }

    /// Gives the permit back, and completes when the store knows: `true`, or when it is uncertain
    /// whether it does: `false`. The permit then ends on the store after one lease time at most.
    ///
    /// A permit that stays in the process, by [`reuse`](crate::BulkheadBuilder::reuse) or
    /// [`idle`](crate::BulkheadBuilder::idle), is given back without the store: the future
    /// completes immediately with `true`.
    ///
    /// # Cancel safety
    ///
    /// The permit is given back when this is called, before the future is polled.
    pub fn release(self) -> impl Future<Output = bool> + Send {
        let (member, lease) = (Arc::clone(&self.member), self.grant.lease);
        drop(self);
        poll_fn(move |context| match lease {
            Some(lease) => member.poll(context, |state, waker| state.poll_released(lease, waker)),
            None => Poll::Ready(true),
        })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Grant { lease, cost, .. } = self.grant;
        self.member.with(|state, now| state.release(now, lease, cost));
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit")
            .field("label", &self.member.label)
            .field("token", &self.grant.token)
            .field("cost", &self.grant.cost)
            .finish_non_exhaustive()
    }
}
