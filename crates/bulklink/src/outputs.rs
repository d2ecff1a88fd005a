//! What an input leaves to be done outside the lock: wakers to wake, events to tell. The one place that wakes.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::task::Waker;

use bulklink_core::Gate;

use crate::event::{Event, EventHandler, Handlers};
use crate::foreign::{contain, discard};
use crate::shared::Shared;

/// How much is taken in one go, so that nobody holds the lock for long. Two under loom, where each step multiplies the search.
const BATCH: usize = if cfg!(bulklink_loom) { 2 } else { 16 };

#[derive(Default)]
pub(crate) struct Outputs {
    /// Mostly there is this one and nothing else.
    wake: Option<Waker>,
    more: Option<Box<More>>,
}

/// What rarely comes.
struct More {
    wakes: Vec<Waker>,
    events: Vec<bulklink_core::Event>,
    /// Whom to tell of these.
    handlers: Handlers,
    /// Whether the gate has given all it had.
    complete: bool,
}

impl Outputs {
    /// Takes what the gate gives, or a batch of it.
    #[inline]
    pub(crate) fn take(gate: &mut Gate<Waker>, handlers: &Handlers) -> Self {
        if !gate.has_output() {
            return Outputs::default();
        }
        let wake = gate.poll_wake();
        let more = gate.has_output().then(|| Box::new(More::take(gate, handlers)));
        Outputs { wake, more }
    }

    /// Returns whether there is nothing left to be taken.
    #[inline]
    pub(crate) fn deliver(self, shared: &Shared) -> bool {
        if let Some(waker) = self.wake {
            wake(waker);
        }
        self.more.is_none_or(|more| more.deliver(shared))
    }
}

impl More {
    #[cold]
    fn take(gate: &mut Gate<Waker>, handlers: &Handlers) -> Self {
        let wakes = core::iter::from_fn(|| gate.poll_wake()).take(BATCH - 1).collect();
        let events = core::iter::from_fn(|| gate.poll_event()).take(BATCH).collect();
        More { wakes, events, handlers: handlers.clone(), complete: !gate.has_output() }
    }

    #[cold]
    fn deliver(self, shared: &Shared) -> bool {
        self.wakes.into_iter().for_each(wake);
        if !self.events.is_empty() {
            tell(shared, self.events, &self.handlers);
        }
        // The last to hold a handler that was removed meanwhile drops it here.
        discard(self.handlers);
        self.complete
    }
}

/// Whoever woke this task is not to blame for its waker; the panic hook has reported it.
fn wake(waker: Waker) {
    contain(|| waker.wake());
}

fn tell(shared: &Shared, events: Vec<bulklink_core::Event>, handlers: &Handlers) {
    let at = shared.now();
    for event in events {
        let event = Event { label: Arc::clone(shared.label()), at, event };
        for handler in handlers.iter() {
            call(shared, handler, &event);
        }
    }
}

fn call(shared: &Shared, handler: &EventHandler, event: &Event) {
    if !contain(|| handler(event)) {
        shared.count_handler_panic();
    }
}
