//! The futures that wait for a slot of a partition.

use core::fmt;
use core::future::Future;
use core::ops::Deref;
use core::pin::Pin;
use core::task::{Context, Poll};

use super::lease::{Borrowed, Leased, Lessor, Owned};
use super::{OwnedSlot, Slot};
use crate::acquire::future::{PollHold, Waiting};
use crate::acquire::slot::Hold;
use crate::{Rejection, Runtime, Timer};

/// A call that has entered its partition and waits there, or that got none.
pub(super) enum Entering<L: Deref<Target = dyn Lessor>, R: Timer> {
    Entered(Waiting<Leased<L>, R>),
    Refused {
        lessor: L,
        runtime: R,
        /// Gone when it has been told.
        rejection: Option<Rejection>,
    },
}

/// Nothing in it is pinned but what is behind a box.
impl<L: Deref<Target = dyn Lessor>, R: Timer> Unpin for Entering<L, R> {}

impl<L: Deref<Target = dyn Lessor>, R: Runtime> PollHold for Entering<L, R> {
    type Hold = Hold<Leased<L>>;

    #[inline]
    fn poll_hold(&mut self, context: &mut Context<'_>) -> Poll<Result<Self::Hold, Rejection>> {
        match self {
            Entering::Entered(waiting) => waiting.poll_hold(context),
            Entering::Refused { lessor, runtime, rejection } => runtime.cooperate(context, 1, |_| {
                let rejection = rejection.take().expect("polled again after it had completed");
                lessor.count(&rejection);
                Poll::Ready(Err(rejection))
            }),
        }
    }
}

impl<L: Deref<Target = dyn Lessor>, R: Timer> Entering<L, R> {
    fn describe(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Entering::Entered(waiting) => waiting.describe(name, f),
            Entering::Refused { rejection, .. } => {
                let label = rejection.as_ref().map(Rejection::label);
                f.debug_struct(name).field("label", &label).field("state", &"refused").finish_non_exhaustive()
            }
        }
    }
}

/// A call that waits for a [`Slot`]; made by [`Partitions::slot`](crate::Partitions::slot).
///
/// It has entered its partition already. Dropping it leaves that again and loses the place in the queue, and never a slot.
///
/// # Panics
///
/// If polled again after it has completed.
#[must_use = "futures do nothing unless polled"]
pub struct SlotFuture<'a, R: Timer>(Entering<Borrowed<'a>, R>);

impl<'a, R: Timer> SlotFuture<'a, R> {
    pub(super) fn new(entering: Entering<Borrowed<'a>, R>) -> Self {
        SlotFuture(entering)
    }
}

impl<'a, R: Runtime> Future for SlotFuture<'a, R> {
    type Output = Result<Slot<'a>, Rejection>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_hold(context).map_ok(Slot::new)
    }
}

impl<R: Timer> fmt::Debug for SlotFuture<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe("SlotFuture", f)
    }
}

/// A call that waits for an [`OwnedSlot`]; made by [`Partitions::slot_owned`](crate::Partitions::slot_owned).
///
/// It has entered its partition already. Dropping it leaves that again and loses the place in the queue, and never a slot.
///
/// # Panics
///
/// If polled again after it has completed.
#[must_use = "futures do nothing unless polled"]
pub struct OwnedSlotFuture<R: Timer>(Entering<Owned, R>);

impl<R: Timer> OwnedSlotFuture<R> {
    pub(super) fn new(entering: Entering<Owned, R>) -> Self {
        OwnedSlotFuture(entering)
    }
}

impl<R: Runtime> Future for OwnedSlotFuture<R> {
    type Output = Result<OwnedSlot, Rejection>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_hold(context).map_ok(OwnedSlot::new)
    }
}

impl<R: Timer> fmt::Debug for OwnedSlotFuture<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe("OwnedSlotFuture", f)
    }
}
