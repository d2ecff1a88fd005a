//! The futures that acquire a slot of a partition.

use core::fmt;
use core::future::Future;
use core::ops::Deref;
use core::pin::Pin;
use core::task::{Context, Poll};

use super::lease::{BorrowedOwner, LeaseOwner, Leased, SharedOwner};
use super::{OwnedSlot, Slot};
use crate::acquire::future::{Acquire, PollAcquire};
use crate::acquire::slot::HeldGrant;
use crate::{Rejection, Runtime, Timer};

/// A call that has entered its partition and acquires a slot there, or that got no partition.
pub(super) enum PartitionAcquire<L: Deref<Target = dyn LeaseOwner>, R: Timer> {
    Entered(Acquire<Leased<L>, R>),
    /// Returned, and counted, by the first poll.
    Rejected {
        owner: L,
        runtime: R,
        /// `None` when it has been returned.
        rejection: Option<Rejection>,
    },
}

/// Only the timer is pinned, and it is boxed.
impl<L: Deref<Target = dyn LeaseOwner>, R: Timer> Unpin for PartitionAcquire<L, R> {}

impl<L: Deref<Target = dyn LeaseOwner>, R: Runtime> PollAcquire for PartitionAcquire<L, R> {
    type Held = HeldGrant<Leased<L>>;

    #[inline]
    fn poll_acquire(&mut self, context: &mut Context<'_>) -> Poll<Result<Self::Held, Rejection>> {
        match self {
            PartitionAcquire::Entered(acquire) => acquire.poll_acquire(context),
            PartitionAcquire::Rejected { owner, runtime, rejection } => runtime.cooperate(context, 1, |_| {
                let rejection = rejection.take().expect("polled again after it had completed");
                owner.count(&rejection);
                Poll::Ready(Err(rejection))
            }),
        }
    }
}

impl<L: Deref<Target = dyn LeaseOwner>, R: Timer> PartitionAcquire<L, R> {
    fn describe(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PartitionAcquire::Entered(acquire) => acquire.describe(name, f),
            PartitionAcquire::Rejected { rejection, .. } => {
                let label = rejection.as_ref().map(Rejection::label);
                f.debug_struct(name).field("label", &label).field("state", &"refused").finish_non_exhaustive()
            }
        }
    }
}

/// A future that acquires a [`Slot`]; returned by [`Partitions::slot`](crate::Partitions::slot).
///
/// It has already entered its partition. Dropping it gives up its place in the queue and leaves the
/// partition, and never loses a slot.
///
/// # Panics
///
/// If polled again after it has completed.
#[must_use = "futures do nothing unless polled"]
pub struct SlotFuture<'a, R: Timer>(PartitionAcquire<BorrowedOwner<'a>, R>);

impl<'a, R: Timer> SlotFuture<'a, R> {
    pub(super) fn new(acquire: PartitionAcquire<BorrowedOwner<'a>, R>) -> Self {
        SlotFuture(acquire)
    }
}

impl<'a, R: Runtime> Future for SlotFuture<'a, R> {
    type Output = Result<Slot<'a>, Rejection>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_acquire(context).map_ok(Slot::new)
    }
}

impl<R: Timer> fmt::Debug for SlotFuture<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe("SlotFuture", f)
    }
}

/// A future that acquires an [`OwnedSlot`]; returned by
/// [`Partitions::slot_owned`](crate::Partitions::slot_owned).
///
/// It has already entered its partition. Dropping it gives up its place in the queue and leaves the
/// partition, and never loses a slot.
///
/// # Panics
///
/// If polled again after it has completed.
#[must_use = "futures do nothing unless polled"]
pub struct OwnedSlotFuture<R: Timer>(PartitionAcquire<SharedOwner, R>);

impl<R: Timer> OwnedSlotFuture<R> {
    pub(super) fn new(acquire: PartitionAcquire<SharedOwner, R>) -> Self {
        OwnedSlotFuture(acquire)
    }
}

impl<R: Runtime> Future for OwnedSlotFuture<R> {
    type Output = Result<OwnedSlot, Rejection>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_acquire(context).map_ok(OwnedSlot::new)
    }
}

impl<R: Timer> fmt::Debug for OwnedSlotFuture<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe("OwnedSlotFuture", f)
    }
}
