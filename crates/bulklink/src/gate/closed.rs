//! The future that waits until a bulkhead is closed and its last operation has ended.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use bulklink_core::Watch;

use crate::foreign::discard;
use crate::gate::shared::{GateState, Shared};
use crate::gate::waker_cell::{WakerCell, wakes};

/// Completes when the bulkhead is closed and the last operation has ended.
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

/// Needs no look at the word: once a bulkhead is closed, the gate hears of every operation that
/// ends.
impl WakerCell<GateState> for Option<Watch> {
    type Found = Poll<()>;

    fn wants(&self, GateState { gate, .. }: &GateState, waker: &Waker) -> bool {
        let parked = self.as_ref().and_then(|watch| gate.watched(watch));
        !gate.is_drained() && !wakes(parked, waker)
    }

    fn park(&mut self, GateState { gate, .. }: &mut GateState, waker: Waker) -> Option<Waker> {
        if let Some(watch) = self {
            return gate.rewatch(watch, waker);
        }
        *self = Some(gate.watch(waker));
        None
    }

    fn look(&mut self, GateState { gate, .. }: &mut GateState) -> Poll<()> {
        if gate.is_drained() { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Future for Closed<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Closed { shared, watch } = &mut *self;
        shared.look_or_park(watch, context.waker())
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
