//! The outputs of an input, handled outside the lock: wakers are woken, then events are delivered,
//! as [`delivery`](crate::gate::delivery) says.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::task::Waker;

use bulklink_core::Instant;

use crate::foreign::{discard, wake};
use crate::gate::delivery::Delivery;
use crate::gate::patience::{self, NoWait};
use crate::gate::shared::Shared;
use crate::gate::state::GateState;

/// The number of wakers taken at a time. It bounds how long the lock is held. Two under loom, where
/// each step multiplies the search.
const BATCH: usize = if cfg!(bulklink_loom) { 2 } else { 16 };

/// The outputs of an input after the first waker. It fits two registers; another field in a variant
/// would end that.
pub(crate) enum Rest {
    Nothing,
    /// The gate has more wakers. Events follow.
    Wake {
        delivers: bool,
    },
    /// Channels want the time of the gate's events.
    Time {
        delivers: bool,
    },
    Deliver(Delivery),
    /// The thread waits until the event of this number has been delivered, or until it is its turn
    /// to deliver.
    Wait(u64),
}

/// The outputs of an input to one of several bulkheads.
pub(crate) type Undelivered = (Arc<Shared>, (Option<Waker>, Rest));

impl Shared {
    /// Takes the outputs out of the gate: the first waker, and what follows. Usually there is
    /// nothing, or one waker.
    #[inline]
    pub(crate) fn take_outputs(&self, state: &mut GateState) -> (Option<Waker>, Rest) {
        if !state.gate.has_output() {
            return (None, Rest::Nothing);
        }
        let waker = state.gate.poll_wake();
        let rest = if state.gate.has_output() { self.take_rest(state, false, None) } else { Rest::Nothing };
        (waker, rest)
    }

    /// Returns what to do next. Events come after the last waker. But this thread takes the right
    /// to deliver them before it wakes: code that a waker runs on this thread must not deliver
    /// events while other waiters have not been woken.
    #[inline(never)]
    fn take_rest(&self, state: &mut GateState, delivers: bool, at: Option<Instant>) -> Rest {
        let GateState { gate, observers, .. } = state;
        let delivers = delivers || observers.claim();
        if gate.has_wakes() {
            return Rest::Wake { delivers };
        }
        if at.is_none() && observers.needs_time(gate) {
            return Rest::Time { delivers };
        }
        observers.take_events(gate, self, delivers, at)
    }

    /// Wakes and delivers until this thread has nothing left to do.
    #[inline]
    pub(crate) fn deliver(&self, (waker, rest): (Option<Waker>, Rest)) {
        if matches!(rest, Rest::Nothing) {
            wake(waker);
        } else {
            self.deliver_rest((waker, rest));
        }
    }

    #[inline(never)]
    fn deliver_rest(&self, outputs: (Option<Waker>, Rest)) {
        let foreign = NoWait::begin();
        let mut rest = self.wake_all(outputs);
        while let Rest::Deliver(mut delivery) = rest {
            delivery.call_handlers(self);
            let mut displaced = Some(delivery);
            rest = self.turn(|state| state.observers.next(self, &mut displaced));
            // Handlers are foreign: outside the lock, and contained.
            if displaced.is_some() {
                discard(displaced);
            }
        }
        drop(foreign);
        if let Rest::Wait(number) = rest {
            self.wait(number);
        }
    }

    /// Waits until the event of this number has been delivered, or delivers if it becomes this
    /// thread's turn.
    #[cold]
    fn wait(&self, number: u64) {
        if patience::block_on(|waker| self.look_or_park(waker, |state| state.observers.turn(number))) {
            let rest = self.turn(|state| state.observers.next(self, &mut None));
            self.deliver((None, rest));
        }
    }

    /// Wakes until the gate has no waker left. Returns what remains to be delivered.
    fn wake_all(&self, (waker, mut rest): (Option<Waker>, Rest)) -> Rest {
        wake(waker);
        loop {
            rest = match rest {
                Rest::Wake { delivers } => self.wake_batch(delivers),
                Rest::Time { delivers } => {
                    let at = self.now_if_sound();
                    self.turn(|state| self.take_rest(state, delivers, Some(at)))
                }
                rest => return rest,
            }
        }
    }

    /// Wakes a batch, and then returns what follows. Events are taken after the last batch. Until
    /// then, this thread keeps the right to deliver them, for the reason in
    /// [`take_rest`](Shared::take_rest).
    #[cold]
    fn wake_batch(&self, delivers: bool) -> Rest {
        let (wakers, delivers, has_more) = self.beside_the_word(|GateState { gate, observers, .. }| {
            let wakers: Vec<_> = core::iter::from_fn(|| gate.poll_wake()).take(BATCH).collect();
            (wakers, delivers || observers.claim(), gate.has_wakes())
        });
        wake(wakers);
        if has_more { Rest::Wake { delivers } } else { self.turn(|state| self.take_rest(state, delivers, None)) }
    }

    /// Works on the delivery under the lock, and wakes what waits for it.
    fn turn(&self, work: impl FnOnce(&mut GateState) -> Rest) -> Rest {
        let (rest, wakers) = self.beside_the_word(|state| (work(state), state.observers.take_wakers()));
        wake(wakers);
        rest
    }
}

/// Wakes the waiters of several bulkheads, and then delivers the events, outside all locks. The
/// inputs were given without waiting. A handler may have dropped a bulkhead meanwhile: what that
/// drops is foreign, and contained.
pub(crate) fn deliver_all(outputs: Vec<Undelivered>) {
    let _foreign = NoWait::begin();
    let woken: Vec<_> = outputs.into_iter().map(|(shared, outputs)| (shared.wake_all(outputs), shared)).collect();
    for (rest, shared) in woken {
        shared.deliver((None, rest));
        discard(shared);
    }
}
