//! The outputs of an input, handled outside the lock: wakers are woken, then events are delivered.
//!
//! One thread at a time delivers events. Meanwhile other inputs, including those made by handlers,
//! only add events, and that thread delivers them before it returns. So events reach the handlers
//! in order, and a handler that causes events does not recurse.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;
use core::task::Waker;

use bulklink_core::Gate;

use crate::foreign::{contain, discard, wake};
use crate::gate::shared::Shared;
use crate::gate::state::GateState;
use crate::observe::event::{Event, Handler, Handlers};

/// The number of wakers taken at a time. It bounds how long the lock is held. Two under loom, where
/// each step multiplies the search.
const BATCH: usize = if cfg!(bulklink_loom) { 2 } else { 16 };

/// The event handlers, under the lock.
#[derive(Default)]
pub(crate) struct Observers {
    pub(crate) handlers: Handlers,
    /// Whether a thread delivers events.
    is_delivering: bool,
    /// Whether the handlers have changed since the delivery was made.
    is_obsolete: bool,
    /// Reused from one event to the next, so that an event allocates nothing.
    delivery: Option<Box<Delivery>>,
}

/// The handlers and the event that a thread takes out of the lock to deliver one. It is kept and
/// reused, so an event allocates nothing and counts no references.
pub(crate) struct Delivery {
    handlers: Arc<[Handler]>,
    /// The event that handlers see, overwritten for each event.
    event: Event,
}

/// The outputs of an input after the first waker. It fits two registers; another field in a variant
/// would end that.
pub(crate) enum Rest {
    Nothing,
    /// The gate has more wakers.
    Wake,
    /// The gate has more wakers, and this thread delivers events after them.
    WakeThenDeliver,
    Deliver(Box<Delivery>),
}

impl Shared {
    /// Takes the outputs out of the gate: the first waker, and what follows. Usually there is
    /// nothing, or one waker.
    #[inline]
    pub(crate) fn take_outputs(&self, state: &mut GateState) -> (Option<Waker>, Rest) {
        if !state.gate.has_output() {
            return (None, Rest::Nothing);
        }
        let waker = state.gate.poll_wake();
        let rest = if state.gate.has_output() { self.take_rest(state, false) } else { Rest::Nothing };
        (waker, rest)
    }

    /// Returns what to do next. Events come after the last waker. But this thread takes the right
    /// to deliver them before it wakes: code that a waker runs on this thread must not deliver
    /// events while other waiters have not been woken.
    #[inline(never)]
    fn take_rest(&self, GateState { gate, observers, .. }: &mut GateState, delivers: bool) -> Rest {
        let delivers = delivers || observers.claim_delivery();
        if gate.has_wakes() {
            return if delivers { Rest::WakeThenDeliver } else { Rest::Wake };
        }
        if !delivers {
            return Rest::Nothing;
        }
        observers.take_event(gate, self)
    }

    /// Wakes and delivers until the gate has no output left.
    #[inline]
    pub(crate) fn deliver(&self, (waker, rest): (Option<Waker>, Rest)) {
        wake(waker);
        if !matches!(rest, Rest::Nothing) {
            self.deliver_rest(rest);
        }
    }

    /// Wakes until the gate has no waker left. Returns what remains to be delivered.
    pub(crate) fn wake_all(&self, (waker, mut rest): (Option<Waker>, Rest)) -> Rest {
        wake(waker);
        loop {
            rest = match rest {
                Rest::Wake => self.wake_batch(false),
                Rest::WakeThenDeliver => self.wake_batch(true),
                rest => return rest,
            }
        }
    }

    #[inline(never)]
    pub(crate) fn deliver_rest(&self, mut rest: Rest) {
        loop {
            rest = match rest {
                Rest::Nothing => return,
                Rest::Deliver(mut delivery) => {
                    delivery.deliver(self);
                    let mut displaced = Some(delivery);
                    let rest = self.beside_the_word(|state| {
                        state.observers.keep_delivery(&mut displaced);
                        // Checked and given up in one step under the lock: an input that adds an
                        // event later finds that no thread delivers, and delivers it itself.
                        if state.gate.has_output() {
                            return self.take_rest(state, true);
                        }
                        state.observers.is_delivering = false;
                        Rest::Nothing
                    });
                    // Handlers are foreign: outside the lock, and contained.
                    if displaced.is_some() {
                        discard(displaced);
                    }
                    rest
                }
                waking => self.wake_all((None, waking)),
            }
        }
    }

    /// Wakes a batch, and then returns what follows. Events are taken after the last batch. Until
    /// then, this thread keeps the right to deliver them, for the reason in
    /// [`take_rest`](Shared::take_rest).
    #[cold]
    fn wake_batch(&self, delivers: bool) -> Rest {
        let (wakers, rest, delivers) = self.beside_the_word(|state| {
            let wakers: Vec<_> = core::iter::from_fn(|| state.gate.poll_wake()).take(BATCH).collect();
            let delivers = delivers || state.observers.claim_delivery();
            let rest = state.gate.has_wakes().then(|| self.take_rest(state, delivers));
            (wakers, rest, delivers)
        });
        wake(wakers);
        match rest {
            Some(rest) => rest,
            None if delivers => self.beside_the_word(|state| self.take_rest(state, true)),
            None => Rest::Nothing,
        }
    }
}

impl Observers {
    /// Replaces the handlers, and keeps whether a thread delivers. The caller must drop what this
    /// returns outside the lock.
    pub(crate) fn change(&mut self, handlers: Handlers) -> Observers {
        let is_delivering = self.is_delivering;
        mem::replace(self, Observers { handlers, is_delivering, is_obsolete: true, delivery: None })
    }

    /// Takes the right to deliver events, unless another thread has it. Returns whether it was
    /// taken.
    #[inline]
    fn claim_delivery(&mut self) -> bool {
        !mem::replace(&mut self.is_delivering, true)
    }

    /// Takes the next event out of the gate, to be delivered. If there is none, this thread gives
    /// up the right to deliver, in the same step under the lock: the input that adds the next event
    /// delivers it.
    #[inline]
    fn take_event(&mut self, gate: &mut Gate<Waker>, shared: &Shared) -> Rest {
        let Some(mut delivery) = self.delivery.take() else { return self.take_first_event(gate, shared) };
        if gate.poll_event_into(&mut delivery.event.event) {
            return Rest::Deliver(delivery);
        }
        self.delivery = Some(delivery);
        self.is_delivering = false;
        Rest::Nothing
    }

    /// Allocates a delivery for the first event since the handlers changed, if there is one.
    #[cold]
    fn take_first_event(&mut self, gate: &mut Gate<Waker>, shared: &Shared) -> Rest {
        let Some(handlers) = self.handlers.list() else {
            // The last handler was removed while a thread delivered: the events that are left have
            // no recipient.
            while gate.poll_event().is_some() {}
            self.is_delivering = false;
            return Rest::Nothing;
        };
        let Some(event) = gate.poll_event() else {
            self.is_delivering = false;
            return Rest::Nothing;
        };
        self.is_obsolete = false;
        let event = Event::new(Arc::clone(shared.label()), event, Arc::clone(&shared.runtime));
        Rest::Deliver(Box::new(Delivery { handlers: Arc::clone(handlers), event }))
    }

    /// Keeps the delivery for the next event. If the handlers have changed meanwhile, it is
    /// obsolete: the caller must drop it, outside the lock.
    #[inline]
    fn keep_delivery(&mut self, delivery: &mut Option<Box<Delivery>>) {
        if !self.is_obsolete {
            mem::swap(&mut self.delivery, delivery);
        }
    }
}

impl Delivery {
    #[inline]
    fn deliver(&mut self, shared: &Shared) {
        let Delivery { handlers, event } = self;
        for handler in handlers.iter() {
            let is_included = handler.filter.includes(event.kind, event.from_queue());
            if is_included && !contain(|| (handler.function)(event)) {
                shared.count_handler_panic();
            }
        }
    }
}
