//! Waiting for the end.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use bulklink_core::Watch;

use crate::foreign::discard;
use crate::gate::shared::{GateState, Shared};

/// Completes when the bulkhead is closed and the last operation has ended; made by [`Handle::closed`](crate::Handle::closed)
/// and [`Handle::close_and_wait`](crate::Handle::close_and_wait).
#[must_use = "futures do nothing unless polled"]
pub struct Closed<'a> {
    shared: &'a Shared,
    watch: Option<Watch>,
}

impl Shared {
    pub(crate) fn closed(&self) -> Closed<'_> {
        Closed { shared: self, watch: None }
    }

    /// Wakes `waker` when the bulkhead has closed and drained, for whoever never gives up waiting: at once, if it has.
    pub(crate) fn when_drained(&self, waker: Waker) {
        let drained = self.beside_the_word(|GateState { gate, .. }| {
            if gate.is_drained() {
                return Some(waker);
            }
            let _kept_to_the_end = gate.watch(waker);
            None
        });
        if let Some(waker) = drained {
            waker.wake();
        }
    }
}

impl Closed<'_> {
    /// Whether the waker that is left is one that wakes this task.
    fn is_watched_by(&self, waker: &Waker) -> bool {
        let Some(watch) = &self.watch else { return false };
        self.shared.beside_the_word(|GateState { gate, .. }| {
            gate.watched(watch).is_some_and(|watched| watched.will_wake(waker))
        })
    }

    /// What waits for the end, and whether it has come, needs no look at the word: once the bulkhead is closed,
    /// all that ends is told to the gate.
    ///
    /// Leaves the waker, or says that there is nothing more to wait for. What is displaced is dropped outside the lock.
    fn watch(&mut self, waker: Waker) -> Poll<()> {
        let Closed { shared, watch } = self;
        let (poll, displaced) = shared.beside_the_word(|GateState { gate, .. }| {
            if gate.is_drained() {
                return (Poll::Ready(()), Some(waker));
            }
            let Some(watch) = watch else {
                *watch = Some(gate.watch(waker));
                return (Poll::Pending, None);
            };
            (Poll::Pending, gate.rewatch(watch, waker))
        });
        discard(displaced);
        poll
    }
}

impl Future for Closed<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.is_watched_by(context.waker()) {
            return Poll::Pending;
        }
        self.watch(context.waker().clone())
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
