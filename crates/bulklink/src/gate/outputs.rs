//! What an input leaves to be done outside the lock: wakers are woken, then events are delivered.
//!
//! One thread at a time delivers. Meanwhile other inputs, those of handlers included, only add
//! events, which that thread delivers before it returns. So events reach handlers in order, and a
//! handler that causes events takes no stack for them.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;
use core::task::Waker;

use bulklink_core::Gate;

use crate::foreign::{contain, discard};
use crate::gate::shared::{GateState, Shared};
use crate::observe::event::{Event, Handlers};

/// How many wakers are taken at a time, which bounds how long the lock is held. Two under loom, where
/// each step multiplies the search.
const BATCH: usize = if cfg!(bulklink_loom) { 2 } else { 16 };

/// The event handlers, under the lock.
#[derive(Default)]
pub(crate) struct Observers {
    pub(crate) handlers: Handlers,
    /// Whether a thread delivers events.
    is_delivering: bool,
    /// Kept between deliveries.
    delivery: Option<Box<Delivery>>,
}

/// What a thread takes along to deliver events. As it is kept, an event allocates nothing and counts
/// no references.
struct Delivery {
    handlers: Handlers,
    /// What handlers are shown, filled in anew for each event.
    event: Event,
}

/// What is left to be done after an input.
#[derive(Default)]
pub(crate) struct Outputs {
    waker: Option<Waker>,
    rest: Rest,
}

/// Passed in two registers, which a variant with another field would end.
#[derive(Default)]
enum Rest {
    #[default]
    Nothing,
    /// More wakers are there to be taken.
    Wake,
    /// The same, and this thread has the right to deliver afterwards.
    WakeThenDeliver,
    Deliver(Box<Delivery>),
}

impl Shared {
    /// Takes what is to be done first. Most often that is all, and most often it is one waker.
    #[inline]
    pub(crate) fn take_outputs(&self, state: &mut GateState) -> Outputs {
        if !state.gate.has_output() {
            return Outputs::default();
        }
        let waker = state.gate.poll_wake();
        let rest = if state.gate.has_output() { self.take_rest(state, false) } else { Rest::Nothing };
        Outputs { waker, rest }
    }

    /// Events come only once no waker is left. But the right to deliver them is taken before, so that what a
    /// waker runs on this thread does not deliver them while others have not been woken.
    #[inline(never)]
    fn take_rest(&self, GateState { gate, observers, .. }: &mut GateState, delivers: bool) -> Rest {
        let delivers = delivers || observers.begin();
        if gate.has_wakes() {
            return if delivers { Rest::WakeThenDeliver } else { Rest::Wake };
        }
        if !delivers {
            return Rest::Nothing;
        }
        observers.take_event(gate, self).map_or(Rest::Nothing, Rest::Deliver)
    }

    /// Does all that is to be done, until nothing is left.
    #[inline]
    pub(crate) fn deliver(&self, Outputs { waker, rest }: Outputs) {
        if let Some(waker) = waker {
            wake(waker);
        }
        if !matches!(rest, Rest::Nothing) {
            self.deliver_rest(rest);
        }
    }

    #[inline(never)]
    fn deliver_rest(&self, mut rest: Rest) {
        loop {
            rest = match rest {
                Rest::Nothing => return,
                Rest::Wake => self.wake_batch(false),
                Rest::WakeThenDeliver => self.wake_batch(true),
                Rest::Deliver(mut delivery) => {
                    delivery.deliver(self);
                    let (rest, displaced) = self.beside_the_word(|state| {
                        let displaced = state.observers.arrive(delivery);
                        if state.gate.has_output() {
                            return (self.take_rest(state, true), displaced);
                        }
                        state.observers.is_delivering = false;
                        (Rest::Nothing, displaced)
                    });
                    if displaced.is_some() {
                        discard(displaced);
                    }
                    rest
                }
            }
        }
    }

    #[cold]
    fn wake_batch(&self, delivers: bool) -> Rest {
        let (wakers, rest) = self.beside_the_word(|state| {
            let wakers: Vec<_> = core::iter::from_fn(|| state.gate.poll_wake()).take(BATCH).collect();
            (wakers, self.take_rest(state, delivers))
        });
        wakers.into_iter().for_each(wake);
        rest
    }
}

impl Observers {
    /// Changes the handlers. Returns what is to be dropped outside the lock.
    pub(crate) fn change(&mut self, handlers: Handlers) -> Displaced {
        Displaced { _handlers: mem::replace(&mut self.handlers, handlers), _delivery: self.delivery.take() }
    }

    /// Takes the right to deliver events, unless another thread has it. Returns whether it was taken.
    fn begin(&mut self) -> bool {
        let begins = !self.is_delivering && !self.handlers.is_empty();
        self.is_delivering |= begins;
        begins
    }

    /// Gives the next event to the delivery, which leaves; if there is none, this thread delivers no more. That is
    /// one step under the lock: what adds the next event delivers it.
    #[inline]
    fn take_event(&mut self, gate: &mut Gate<Waker>, shared: &Shared) -> Option<Box<Delivery>> {
        let has_event = match &mut self.delivery {
            Some(delivery) => gate.poll_event().map(|event| delivery.event.event = event).is_some(),
            None => self.take_first_event(gate, shared),
        };
        self.is_delivering = has_event;
        if has_event { self.delivery.take() } else { None }
    }

    /// Makes a delivery for the first event since the handlers changed, if there is one.
    #[cold]
    fn take_first_event(&mut self, gate: &mut Gate<Waker>, shared: &Shared) -> bool {
        if self.handlers.is_empty() {
            // The last handler was removed while a thread delivered.
            while gate.poll_event().is_some() {}
        }
        let delivery = |event| {
            let event = Event::new(Arc::clone(shared.label()), event, Arc::clone(&shared.runtime));
            Box::new(Delivery { handlers: self.handlers.clone(), event })
        };
        self.delivery = gate.poll_event().map(delivery);
        self.delivery.is_some()
    }

    /// Returns what is to be dropped outside the lock: the delivery, where the handlers have changed.
    #[inline]
    fn arrive(&mut self, delivery: Box<Delivery>) -> Option<Box<Delivery>> {
        if delivery.handlers.is(&self.handlers) {
            return self.delivery.replace(delivery);
        }
        Some(delivery)
    }
}

/// What a change of handlers leaves to be dropped outside the lock.
pub(crate) struct Displaced {
    _handlers: Handlers,
    _delivery: Option<Box<Delivery>>,
}

impl Delivery {
    #[inline]
    fn deliver(&mut self, shared: &Shared) {
        let Delivery { handlers, event } = self;
        for handler in handlers.as_slice() {
            if !contain(|| handler(event)) {
                shared.count_handler_panic();
            }
        }
    }
}

/// The call that settled a waiter is not to blame for its waker; the panic hook has reported it.
fn wake(waker: Waker) {
    contain(|| waker.wake());
}
