//! The outputs of an input, handled outside the lock: wakers are woken, then events are delivered,
//! as [`delivery`](crate::gate::delivery) describes.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::task::Waker;

use bulklink_core::Instant;
use bulklink_core::plumbing::{self, Wakes};

use crate::foreign::{discard, wake};
use crate::gate::delivery::{Delivery, Events, SHARE, Step};
use crate::gate::patience::{self, finish, inside};
use crate::gate::shared::Shared;
use crate::gate::state::GateState;

/// The outputs of an input after the first waker. Rare and large ones are in a box, because each
/// input has a place for it.
pub(crate) enum Rest {
    Nothing,
    /// The other wakers, and then the events.
    Later(Box<(Wakes<Waker>, Events)>),
    /// An event for handlers, if there is no waker.
    Deliver(Delivery),
    /// The events, for which channels want the time, if there is no waker.
    Time(Events),
    /// The thread waits, by this id, if there is no waker.
    Wait(u64),
}

/// The outputs of an input to one of several bulkheads, if there are any.
pub(crate) type Undelivered = (Arc<Shared>, Option<(Wakes<Waker>, Events)>);

impl Shared {
    /// Takes the outputs out of the gate: the first waker, and what follows, which is stored in
    /// `rest`. Usually there is nothing, or one waker.
    #[inline]
    pub(crate) fn take_outputs(&self, state: &mut GateState, rest: &mut Rest) -> Option<Waker> {
        let waker = state.gate.poll_wake();
        if state.gate.has_output() {
            self.take_rest(state, waker.is_some(), rest);
        }
        waker
    }

    /// Takes all wakers, and leaves all events for later, if there are any.
    pub(crate) fn take_undelivered(state: &mut GateState) -> Option<(Wakes<Waker>, Events)> {
        if !state.gate.has_output() {
            return None;
        }
        let events = state.observers.events_of_input(plumbing::events_recorded(&state.gate));
        state.observers.expect(events);
        Some((plumbing::take_wakes(&mut state.gate), events))
    }

    /// All wakers of an input are taken in its own turn of the lock: no other thread gets any.
    #[inline(never)]
    fn take_rest(&self, state: &mut GateState, has_waker: bool, rest: &mut Rest) {
        let GateState { gate, observers, .. } = state;
        let events = observers.events_of_input(plumbing::events_recorded(gate));
        if has_waker && (gate.has_wakes() || events.count > 0) {
            observers.expect(events);
            *rest = Rest::Later(Box::new((plumbing::take_wakes(gate), events)));
            return;
        }
        // The rest, without events of its own, are those of calls that come for them.
        if events.count == 0 {
            return;
        }
        let step = observers.take_only_event(gate, events).unwrap_or_else(|| {
            observers.expect(events);
            observers.come(gate, self, events, None, SHARE)
        });
        *rest = match step {
            Step::Done => Rest::Nothing,
            Step::Deliver(delivery, _) => Rest::Deliver(delivery),
            Step::Time => Rest::Time(events),
            Step::Wait(id) => Rest::Wait(id),
            Step::Wake(_) => unreachable!("only channels have receivers, and they want the time first"),
        };
    }

    /// Wakes and delivers until this thread has nothing left to do.
    #[inline]
    pub(crate) fn deliver(&self, waker: Option<Waker>, rest: Rest) {
        match rest {
            Rest::Nothing => wake(waker),
            _ => self.deliver_rest(waker, rest),
        }
    }

    /// Usually there is one event, and no waker.
    #[inline(never)]
    fn deliver_rest(&self, waker: Option<Waker>, rest: Rest) {
        match rest {
            Rest::Deliver(delivery) => _ = self.call_handlers(delivery),
            rest => self.wake_and_deliver(waker, rest),
        }
        finish();
    }

    #[cold]
    fn wake_and_deliver(&self, waker: Option<Waker>, rest: Rest) {
        match rest {
            Rest::Nothing => wake(waker),
            Rest::Later(outputs) => {
                let (others, events) = *outputs;
                inside(|| wake(waker.into_iter().chain(others)));
                self.settle(events, SHARE);
            }
            Rest::Deliver(delivery) => _ = self.call_handlers(delivery),
            Rest::Time(events) => _ = self.take_step(events, SHARE, Step::Time),
            Rest::Wait(id) => _ = self.wait(id),
        }
    }

    /// Delivers the events of an input, after its waiters have been woken, and up to so many of
    /// others. Returns how many of others it has delivered.
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

    /// Puts the events of an input into the channels, and leaves the rest for
    /// [`settle`](Shared::settle).
    fn fill_channels(&self, events: Events) {
        let needs_time = || self.beside_the_word(|state| state.observers.needs_time(&state.gate));
        if events.count > 0 && needs_time() {
            let at = Some(self.now_if_sound());
            let wakers = self
                .beside_the_word(|GateState { gate, observers, .. }| observers.queue_events(gate, self, events, at));
            inside(|| wake(wakers));
        }
    }

    fn take_step(&self, events: Events, share: usize, mut step: Step) -> usize {
        loop {
            step = match step {
                Step::Done => return 0,
                Step::Deliver(delivery, own) => return self.call_handlers(delivery).saturating_sub(own),
                Step::Wait(id) => return self.wait(id),
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

    /// Waits until the events of this thread have been delivered, or until it is its turn to
    /// deliver. Returns how many events of others it has delivered.
    #[cold]
    fn wait(&self, id: u64) -> usize {
        let turn = patience::block_on(|waker| self.look_or_park(waker, |state| state.observers.turn(id)));
        let Some(own) = turn else { return 0 };
        let next = self.turn(|state| state.observers.next(self));
        next.map_or(0, |delivery| self.call_handlers(delivery)).saturating_sub(own)
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

/// Returns whether nothing is to be woken or delivered.
pub(crate) fn has_no_outputs(outputs: &[Undelivered]) -> bool {
    outputs.iter().all(|(_, outputs)| outputs.is_none())
}

/// Wakes the waiters of several bulkheads and fills their channels, and then calls the handlers of
/// one after the other, outside all locks. It has one share for all of them.
pub(crate) fn deliver_all(outputs: Vec<Undelivered>) {
    // Usually there are none, and that needs no more steps.
    if has_no_outputs(&outputs) {
        return outputs.into_iter().for_each(discard);
    }
    let fill = |(shared, outputs): Undelivered| {
        let (wakes, events) = outputs.unzip();
        inside(|| wake(wakes.into_iter().flatten()));
        (shared, events.unwrap_or(Events::NONE))
    };
    let woken: Vec<_> = outputs.into_iter().map(fill).collect();
    for (shared, events) in &woken {
        shared.fill_channels(*events);
    }
    let mut share = SHARE;
    for (shared, events) in woken {
        share -= shared.settle(events, share).min(share);
        // A handler may have dropped the bulkhead meanwhile: what that drops is foreign.
        discard(shared);
    }
    finish();
}
