//! The future that acquires a slot of a partition.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use bulklink_core::Request;

use crate::acquire::future::Acquire;
use crate::gate::shared::Shared;
use crate::{OwnedSlot, Rejection, Runtime, Timer};

/// A future that acquires an [`OwnedSlot`] of a partition; returned by
/// [`Partitions::slot`](crate::Partitions::slot).
///
/// It has entered its partition already. Dropping it gives up its place in the queue and leaves the
/// partition, and never loses a slot.
///
/// # Panics
///
/// If polled again after it has completed.
#[must_use = "futures do nothing unless polled"]
pub struct SlotFuture<R: Timer>(Entry<R>);

enum Entry<R: Timer> {
    Entered(Acquire<Arc<Shared>, R>),
    /// The call got no partition. The first poll counts the rejection and returns it.
    Refused(R, Option<Box<Rejection>>),
}

impl<R: Runtime> SlotFuture<R> {
    #[inline]
    pub(super) fn new(shared: Arc<Shared>, runtime: R, request: Request) -> Self {
        SlotFuture(Entry::Entered(Acquire::new(shared, runtime, request)))
    }

    #[cold]
    pub(super) fn refused(rejection: Rejection, runtime: R) -> Self {
        SlotFuture(Entry::Refused(runtime, Some(Box::new(rejection))))
    }
}

/// Only the timer is pinned, and it is boxed.
impl<R: Timer> Unpin for SlotFuture<R> {}

impl<R: Runtime> Future for SlotFuture<R> {
    type Output = Result<OwnedSlot, Rejection>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Entry::Entered(acquire) => acquire.poll(context).map_ok(OwnedSlot::new),
            Entry::Refused(runtime, rejection) => runtime.cooperate(context, 1, |_| {
                let rejection = *rejection.take().expect("polled again after it had completed");
                rejection.count();
                Poll::Ready(Err(rejection))
            }),
        }
    }
}

impl<R: Timer> fmt::Debug for SlotFuture<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Entry::Entered(acquire) => acquire.describe("SlotFuture", f),
            Entry::Refused(_, rejection) => {
                let label = rejection.as_ref().map(|rejection| rejection.label());
                f.debug_struct("SlotFuture").field("label", &label).field("state", &"refused").finish_non_exhaustive()
            }
        }
    }
}
