//! The outputs of an input, handled outside the lock: wakers are woken, then events are delivered,
//! as [`delivery`](crate::gate::delivery) says.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::task::{Poll, Waker};

use bulklink_core::{Instant, plumbing};

use crate::foreign::{discard, wake};
use crate::gate::delivery::Delivery;
use crate::gate::patience::{self, without_waiting};
use crate::gate::shared::Shared;
use crate::gate::state::GateState;

/// The number of wakers taken at a time. It bounds how long the lock is held. Two under loom, where
/// each step multiplies the search.
const BATCH: usize = if cfg!(bulklink_loom) { 2 } else { 16 };

/// The outputs of an input after the first waker.
pub(crate) enum Rest {
    Nothing,
    /// The gate has more wakers. Events follow.
    Wake(Events),
    /// Channels want the time of the gate's events.
    Time(Events),
    Deliver(Delivery),
    /// The thread waits until the event of this number has been delivered, or until it is its turn
    /// to deliver.
    Wait(u64),
}

/// The events of an input, and whether this thread has the right to deliver.
#[derive(Clone, Copy)]
pub(crate) struct Events {
    /// The number of the last one.
    pub(crate) last: u64,
    pub(crate) count: u32,
    pub(crate) delivers: bool,
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
        let rest = if state.gate.has_output() { self.take_first(state) } else { Rest::Nothing };
        (waker, rest)
    }

    #[inline(never)]
    fn take_first(&self, state: &mut GateState) -> Rest {
        let events = state.observers.events_of_input(plumbing::events_recorded(&state.gate));
        if !state.gate.has_wakes() {
            if let Some(delivery) = state.observers.take_only_event(&mut state.gate, events.count) {
                return Rest::Deliver(delivery);
            }
        }
        state.observers.expect(events, true);
        self.take_rest(state, events, None)
    }

    /// Returns what to do next. Events come after the last waker. But this thread takes the right
    /// to deliver them before it wakes: code that a waker runs on this thread must not deliver
    /// events while other waiters have not been woken.
    #[inline]
    fn take_rest(&self, state: &mut GateState, mut events: Events, at: Option<Instant>) -> Rest {
        let GateState { gate, observers, .. } = state;
        observers.claim_for(&mut events);
        if gate.has_wakes() {
            return Rest::Wake(events);
        }
        if at.is_none() && observers.needs_time(gate) {
            return Rest::Time(events);
        }
        observers.expect(events, false);
        observers.take_events(gate, self, events, at)
    }

    /// Wakes and delivers until this thread has nothing left to do.
    #[inline]
    pub(crate) fn deliver(&self, (waker, rest): (Option<Waker>, Rest)) {
        match rest {
            Rest::Nothing => wake(waker),
            Rest::Deliver(delivery) if waker.is_none() => self.call_handlers(delivery),
            rest => self.deliver_rest((waker, rest)),
        }
    }

    #[cold]
    #[inline(never)]
    fn deliver_rest(&self, outputs: (Option<Waker>, Rest)) {
        match self.wake_all(outputs) {
            Rest::Deliver(delivery) => self.call_handlers(delivery),
            Rest::Wait(number) => wait_for_all(&mut vec![(self, number)]),
            _ => (),
        }
    }

    /// Calls the handlers for one event after the other, until this thread has done its share.
    #[inline(never)]
    fn call_handlers(&self, mut delivery: Delivery) {
        loop {
            delivery.call_handlers(self);
            let (next, displaced) = self.turn(|state| state.observers.after(delivery, self));
            // Handlers are foreign: outside the lock, and contained.
            if displaced.is_some() {
                without_waiting(|| discard(displaced));
            }
            match next {
                Some(next) => delivery = next,
                None => return,
            }
        }
    }

    /// Wakes the threads whose wait for a delivery is over, and receivers.
    #[cold]
    fn wake_released(&self) {
        let wakers = self.beside_the_word(|state| state.observers.take_wakers());
        without_waiting(|| wake(wakers));
    }

    /// Wakes until the gate has no waker left. Returns what remains to be delivered.
    fn wake_all(&self, (waker, mut rest): (Option<Waker>, Rest)) -> Rest {
        without_waiting(|| wake(waker));
        loop {
            rest = match rest {
                Rest::Wake(events) => self.wake_batch(events),
                Rest::Time(events) => {
                    let at = without_waiting(|| self.now_if_sound());
                    self.turn(|state| self.take_rest(state, events, Some(at)))
                }
                rest => return rest,
            }
        }
    }

    /// Wakes a batch, and then returns what follows. Events are taken after the last batch. Until
    /// then, this thread keeps the right to deliver them, for the reason in
    /// [`take_rest`](Shared::take_rest).
    #[cold]
    fn wake_batch(&self, mut events: Events) -> Rest {
        let (wakers, has_more) = self.beside_the_word(|GateState { gate, observers, .. }| {
            let wakers: Vec<_> = core::iter::from_fn(|| gate.poll_wake()).take(BATCH).collect();
            observers.claim_for(&mut events);
            (wakers, gate.has_wakes())
        });
        without_waiting(|| wake(wakers));
        if has_more { Rest::Wake(events) } else { self.turn(|state| self.take_rest(state, events, None)) }
    }

    /// Works on the delivery under the lock, and wakes what waits for it.
    #[inline]
    fn turn<T>(&self, work: impl FnOnce(&mut GateState) -> T) -> T {
        let (rest, has_wakers) = self.beside_the_word(|state| (work(state), state.observers.has_wakers()));
        if has_wakers {
            self.wake_released();
        }
        rest
    }
}

/// Wakes the waiters of several bulkheads, and then delivers the events, outside all locks. It
/// waits for other threads when it has nothing left to deliver, so two threads that do this never
/// wait for each other. A handler may have dropped a bulkhead meanwhile: what that drops is
/// foreign, and contained.
pub(crate) fn deliver_all(outputs: Vec<Undelivered>) {
    let woken: Vec<_> = outputs.into_iter().map(|(shared, outputs)| (shared.wake_all(outputs), shared)).collect();
    let mut bulkheads = Vec::new();
    for (rest, shared) in woken {
        match rest {
            Rest::Wait(number) => bulkheads.push((shared, number)),
            rest => {
                shared.deliver((None, rest));
                discard(shared);
            }
        }
    }
    wait_for_all(&mut bulkheads.iter().map(|(shared, number)| (&**shared, *number)).collect());
    bulkheads.into_iter().for_each(discard);
}

/// Waits in each bulkhead until the event of this number has been delivered, and delivers where it
/// becomes this thread's turn.
#[cold]
fn wait_for_all(waits: &mut Vec<(&Shared, u64)>) {
    while !waits.is_empty() {
        let (place, delivers) = patience::block_on(|waker| {
            let turn_of = |(place, &(shared, number)): (usize, &(&Shared, u64))| match shared
                .look_or_park(waker, |state| state.observers.turn(number))
            {
                Poll::Ready(delivers) => Some(Poll::Ready((place, delivers))),
                Poll::Pending => None,
            };
            waits.iter().enumerate().find_map(turn_of).unwrap_or(Poll::Pending)
        });
        let (shared, _) = waits.swap_remove(place);
        if delivers {
            let next = shared.turn(|state| state.observers.next(shared));
            if let Some(delivery) = next {
                shared.call_handlers(delivery);
            }
        }
    }
}
