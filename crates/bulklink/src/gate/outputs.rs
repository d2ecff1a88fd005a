//! The outputs of an input, handled outside the lock: wakers are woken, then events are delivered,
//! as [`delivery`](crate::gate::delivery) says.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::task::Waker;

use bulklink_core::{Instant, plumbing};

use crate::foreign::{discard, wake};
use crate::gate::delivery::{Delivery, Events, SHARE, Step};
use crate::gate::patience::{self, finish, inside};
use crate::gate::shared::Shared;
use crate::gate::state::GateState;

/// The number of wakers taken at a time. It bounds how long the lock is held. Two under loom, where
/// each step multiplies the search.
const BATCH: usize = if cfg!(bulklink_loom) { 2 } else { 16 };

/// The outputs of an input after the first waker.
pub(crate) enum Rest {
    Nothing,
    /// The wakers that the gate still has, and then the events.
    Later(Events),
    /// The events, and what to do with them, if there is no waker.
    Now(Events, Step),
}

/// The outputs of an input to one of several bulkheads.
pub(crate) type Undelivered = (Arc<Shared>, (Option<Waker>, Events));

impl Shared {
    /// Takes the outputs out of the gate: the first waker, and what follows. Usually there is
    /// nothing, or one waker.
    #[inline]
    pub(crate) fn take_outputs(&self, state: &mut GateState) -> (Option<Waker>, Rest) {
        let waker = state.gate.poll_wake();
        let rest = if state.gate.has_output() { self.take_rest(state, waker.is_some()) } else { Rest::Nothing };
        (waker, rest)
    }

    /// Takes the outputs as [`take_outputs`](Shared::take_outputs) does, and leaves all events for
    /// later.
    pub(crate) fn take_undelivered(state: &mut GateState) -> (Option<Waker>, Events) {
        let waker = state.gate.poll_wake();
        let events = state.observers.events_of_input(plumbing::events_recorded(&state.gate));
        state.observers.expect(events);
        (waker, events)
    }

    #[inline(never)]
    fn take_rest(&self, state: &mut GateState, has_waker: bool) -> Rest {
        let GateState { gate, observers, .. } = state;
        let events = observers.events_of_input(plumbing::events_recorded(gate));
        let wakes = has_waker || gate.has_wakes();
        if wakes || events.count == 0 {
            observers.expect(events);
            return if wakes { Rest::Later(events) } else { Rest::Nothing };
        }
        if let Some(step) = observers.take_only_event(gate, events) {
            return Rest::Now(events, step);
        }
        observers.expect(events);
        Rest::Now(events, observers.come(gate, self, events, None, SHARE))
    }

    /// Wakes and delivers until this thread has nothing left to do.
    #[inline]
    pub(crate) fn deliver(&self, (waker, rest): (Option<Waker>, Rest)) {
        match rest {
            Rest::Nothing => wake(waker),
            Rest::Now(_, Step::Deliver(delivery)) => {
                self.call_handlers(delivery);
                finish();
            }
            rest => self.deliver_rest(waker, rest),
        }
    }

    #[cold]
    #[inline(never)]
    fn deliver_rest(&self, waker: Option<Waker>, rest: Rest) {
        match rest {
            Rest::Nothing => wake(waker),
            Rest::Later(events) => {
                self.wake_all(waker);
                self.settle(events, SHARE);
            }
            Rest::Now(events, step) => _ = self.take_step(events, SHARE, step),
        }
        finish();
    }

    /// Wakes until the gate has no waker left.
    fn wake_all(&self, waker: Option<Waker>) {
        inside(|| wake(waker));
        let mut has_more = self.beside_the_word(|state| state.gate.has_wakes());
        while has_more {
            let wakers: Vec<_>;
            (wakers, has_more) = self.beside_the_word(|GateState { gate, .. }| {
                (core::iter::from_fn(|| gate.poll_wake()).take(BATCH).collect(), gate.has_wakes())
            });
            inside(|| wake(wakers));
        }
    }

    /// Delivers the events of an input, after its waiters have been woken, and up to so many of
    /// others. Returns how many it has delivered.
    ///
    /// No foreign code but handlers runs while this thread has the right to call them: the
    /// receivers of channels are woken before it has it, and handlers that were removed are dropped
    /// after it.
    pub(crate) fn settle(&self, events: Events, share: usize) -> usize {
        if events.count == 0 {
            return 0;
        }
        let step = self.come(events, None, share);
        self.take_step(events, share, step)
    }

    fn come(&self, events: Events, at: Option<Instant>, share: usize) -> Step {
        self.beside_the_word(|GateState { gate, observers, .. }| observers.come(gate, self, events, at, share))
    }

    fn take_step(&self, events: Events, share: usize, mut step: Step) -> usize {
        loop {
            step = match step {
                Step::Done => return 0,
                Step::Deliver(delivery) => return self.call_handlers(delivery),
                Step::Wait(number) => return self.wait(number),
                Step::Time => {
                    let at = self.now_if_sound();
                    self.come(events, Some(at), share)
                }
                Step::Wake(wakers) => {
                    inside(|| wake(wakers));
                    self.beside_the_word(|state| state.observers.begin(self, events, share))
                }
            }
        }
    }

    /// Waits until the event of this number has been delivered, or until it is this thread's turn
    /// to deliver.
    #[cold]
    fn wait(&self, number: u64) -> usize {
        let delivers = patience::block_on(|waker| self.look_or_park(waker, |state| state.observers.turn(number)));
        let next = if delivers { self.turn(|state| state.observers.next(self)) } else { None };
        next.map_or(0, |delivery| self.call_handlers(delivery))
    }

    /// Calls the handlers for one event after the other, until this thread has done its share.
    /// Returns for how many.
    #[inline(never)]
    fn call_handlers(&self, mut delivery: Delivery) -> usize {
        let (mut delivered, mut displaced) = (0, Vec::new());
        loop {
            delivery.call_handlers(self);
            delivered += 1;
            let (next, old) = self.turn(|state| state.observers.after(delivery, self));
            displaced.extend(old);
            match next {
                Some(next) => delivery = next,
                None => break,
            }
        }
        if !displaced.is_empty() {
            discard(displaced);
        }
        delivered
    }

    /// Works on the delivery under the lock, and wakes the threads whose wait is over.
    #[inline]
    fn turn<T>(&self, work: impl FnOnce(&mut GateState) -> T) -> T {
        let (worked, has_released) = self.beside_the_word(|state| (work(state), state.observers.has_released()));
        if has_released {
            self.wake_released();
        }
        worked
    }

    #[cold]
    fn wake_released(&self) {
        wake(self.beside_the_word(|state| state.observers.take_released()));
    }
}

/// Wakes the waiters of several bulkheads, and then delivers the events of one after the other,
/// outside all locks. It has one share for all of them.
pub(crate) fn deliver_all(outputs: Vec<Undelivered>) {
    let woken: Vec<_> = outputs
        .into_iter()
        .map(|(shared, (waker, events))| {
            shared.wake_all(waker);
            (shared, events)
        })
        .collect();
    let mut share = SHARE;
    for (shared, events) in woken {
        let delivered = shared.settle(events, share);
        share -= delivered.saturating_sub(events.count as usize).min(share);
        // A handler may have dropped the bulkhead meanwhile: what that drops is foreign.
        discard(shared);
    }
    finish();
}
