//! What an input leaves to be done outside the lock: wakers to wake, events to tell. The one place that wakes.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::task::Waker;

use bulklink_core::Gate;

use crate::event::{Event, EventHandler, Handlers};
use crate::foreign::{contain, discard};
use crate::shared::Shared;

/// How much is taken in one go, so that nobody holds the lock for long. Two under loom, where each step multiplies the search.
const BATCH: usize = if cfg!(bulklink_loom) { 2 } else { 16 };

pub(crate) struct Outputs {
    /// Mostly there is this one and nothing else.
    wake: Option<Waker>,
    wakes: Vec<Waker>,
    news: Option<News>,
    /// Whether the gate has given all it had.
    pub(crate) complete: bool,
}

/// Events, and whom to tell.
struct News {
    events: Vec<bulklink_core::Event>,
    handlers: Handlers,
}

impl Outputs {
    pub(crate) fn take(gate: &mut Gate<Waker>, handlers: &Handlers) -> Self {
        let wake = gate.poll_wake();
        let wakes = core::iter::from_fn(|| gate.poll_wake()).take(BATCH - 1).collect();
        let events: Vec<_> = core::iter::from_fn(|| gate.poll_event()).take(BATCH).collect();
        let news = (!events.is_empty()).then(|| News { events, handlers: handlers.clone() });
        Outputs { wake, wakes, news, complete: !gate.has_output() }
    }

    pub(crate) fn deliver(self, shared: &Shared) {
        for waker in self.wake.into_iter().chain(self.wakes) {
            // Whoever woke this task is not to blame for its waker; the panic hook has reported it.
            contain(|| waker.wake());
        }
        if let Some(news) = self.news {
            tell(shared, news.events, &news.handlers);
            // The last to hold a handler that was removed meanwhile drops it here.
            discard(news.handlers);
        }
    }
}

fn tell(shared: &Shared, events: Vec<bulklink_core::Event>, handlers: &Handlers) {
    let at = shared.now();
    for event in events {
        let event = Event { label: Arc::clone(&shared.label), at, event };
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
