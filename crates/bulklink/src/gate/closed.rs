//! The future that waits until a bulkhead is closed and its last operation has ended.

#[cfg(feature = "std")]
use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use bulklink_core::plumbing::Watch;

use crate::foreign::discard;
use crate::gate::shared::Shared;
use crate::gate::state::GateState;
#[cfg(feature = "std")]
use crate::time::runtime::OwnClock;

/// Completes when the bulkhead is closed and the last operation has ended; or, if it is that of
/// [partitions](crate::partitions::Handle::closed), when all of them are.
///
/// A thread that may block waits by `block` or `block_for`, with the feature `std`.
///
/// Made by [`Handle::closed`](crate::Handle::closed) and
/// [`Handle::close_and_wait`](crate::Handle::close_and_wait).
#[must_use = "futures do nothing unless polled"]
pub struct Closed<'a> {
    shared: &'a Shared,
    watch: Option<Watch>,
}

impl Shared {
    pub(crate) fn closed(&self) -> Closed<'_> {
        Closed { shared: self, watch: None }
    }

    /// Wakes `waker` when the bulkhead is closed and the last operation has ended: immediately, if
    /// that is so now. The wait cannot be cancelled.
    pub(crate) fn when_drained(&self, waker: Waker) {
        let drained = self.beside_the_word(|GateState { gate, .. }| {
            if gate.is_drained() {
                return Some(waker);
            }
            // The watch is not needed: only a wait that can be cancelled has to be found again.
            let _watch = gate.watch(waker);
            None
        });
        if let Some(waker) = drained {
            waker.wake();
        }
    }
}

#[cfg(feature = "std")]
impl Closed<'_> {
    pub(crate) fn clock(&self) -> OwnClock {
        OwnClock(Arc::clone(&self.shared.runtime))
    }
}

impl Future for Closed<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Closed { shared, watch } = &mut *self;
        // Needs no look at the word: once a bulkhead is closed, the gate hears of every operation
        // that ends.
        shared.look_or_park(context.waker(), |GateState { gate, .. }| {
            if gate.is_drained() {
                return Ok(());
            }
            let watch = watch.get_or_insert_with(|| gate.watch(Waker::noop().clone()));
            Err(gate.watch_mut(watch).expect("the gate has not drained"))
        })
    }
}

impl fmt::Debug for Closed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Closed").field("label", self.shared.label()).finish_non_exhaustive()
    }
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        if let Some(watch) = self.watch.take() {
            let displaced = self.shared.beside_the_word(|state| state.gate.unwatch(watch));
            discard(displaced);
        }
    }
}
