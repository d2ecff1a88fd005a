//! Events and their handlers.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::sync::atomic::{AtomicUsize, Ordering};

use bulklink_core::{EventFilter, Instant};

use crate::time::runtime::DynClock;

/// A transition of a bulkhead, with the figures right after it. It never holds arguments or results
/// of an operation.
///
/// It dereferences to the gate's own event. That has the fields `kind`, an
/// [`EventKind`](crate::EventKind); `occupancy`, the figures right after the transition, an
/// [`Occupancy`](crate::Occupancy); `number`, which counts the events from 1; and `is_closed`. Its
/// methods `waited()`, `cost()`, `from_queue()` and others return what only some kinds have.
///
/// For a histogram of waits, take `waited()` of the admissions among the events of
/// [`EventFilter::WAITS`](crate::EventFilter::WAITS). The calls that were admitted without a wait
/// are [`direct_admitted`](crate::Totals::direct_admitted) in a status.
#[non_exhaustive]
pub struct Event {
    /// The bulkhead's name.
    pub label: Arc<str>,
    /// What happened.
    pub event: bulklink_core::Event,
    time: Time,
}

/// When an event was delivered.
enum Time {
    /// The event is being delivered. A handler that wants the time reads this clock, so that other
    /// handlers pay nothing for it.
    Now(Arc<dyn DynClock>),
    At(Instant),
}

impl Event {
    pub(crate) fn new(label: Arc<str>, event: bulklink_core::Event, clock: Arc<dyn DynClock>) -> Self {
        Event { label, event, time: Time::Now(clock) }
    }

    /// Returns when the event was delivered, by the bulkhead's clock.
    ///
    /// In a handler, each call reads the clock. A clone, such as the event that a channel receives,
    /// has the time at which it was cloned. Each clock has its own epoch, so only the difference
    /// between two instants has a meaning; see [`saturating_since`](Instant::saturating_since). An
    /// adapter may convert the instant to that of its runtime, as `Tokio::to_tokio` does.
    #[must_use]
    pub fn at(&self) -> Instant {
        match &self.time {
            Time::Now(clock) => clock.now(),
            Time::At(at) => *at,
        }
    }
}

impl Clone for Event {
    fn clone(&self) -> Self {
        Event { label: Arc::clone(&self.label), event: self.event, time: Time::At(self.at()) }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Event { label, event, time: _ }, at) = (self, self.at());
        f.debug_struct("Event").field("label", label).field("at", &at).field("event", event).finish()
    }
}

/// Compares what happened, not when it was delivered.
impl PartialEq for Event {
    fn eq(&self, other: &Event) -> bool {
        self.label == other.label && self.event == other.event
    }
}

impl Eq for Event {}

/// The clock is the only foreign code in it, and reading it changes nothing.
impl UnwindSafe for Event {}
impl RefUnwindSafe for Event {}

impl Deref for Event {
    type Target = bulklink_core::Event;

    fn deref(&self) -> &bulklink_core::Event {
        &self.event
    }
}

/// An event handler that was added; made by [`Handle::add_event_handler`] and its like, to remove
/// it by.
///
/// [`Handle::add_event_handler`]: crate::Handle::add_event_handler
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HandlerId(usize);

/// A handler, and the events for which it is called.
#[derive(Clone)]
pub(crate) struct Handler {
    id: HandlerId,
    pub(crate) filter: EventFilter,
    pub(crate) function: Arc<dyn Fn(&Event) + Send + Sync>,
}

impl Handler {
    pub(crate) fn new(filter: EventFilter, function: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        static ADDED: AtomicUsize = AtomicUsize::new(1);
        let id = HandlerId(ADDED.fetch_add(1, Ordering::Relaxed));
        Handler { id, filter, function: Arc::new(function) }
    }

    pub(crate) fn id(&self) -> HandlerId {
        self.id
    }
}

/// The handlers, in order of registration. A list in use never changes: adding and removing make a
/// new list.
#[derive(Clone, Default)]
pub(crate) struct Handlers(Option<Arc<[Handler]>>);

impl Handlers {
    /// Returns the list with the handler at its end.
    pub(crate) fn with(&self, handler: &Handler) -> Handlers {
        Handlers(Some(self.as_slice().iter().chain([handler]).cloned().collect()))
    }

    /// Returns the list without the handler; `None` if it is not in the list.
    pub(crate) fn without(&self, id: HandlerId) -> Option<Handlers> {
        let others: Vec<_> = self.as_slice().iter().filter(|handler| handler.id != id).cloned().collect();
        let found = others.len() < self.as_slice().len();
        found.then(|| Handlers(if others.is_empty() { None } else { Some(others.into()) }))
    }

    /// Returns whether it is the same list, not only a list of the same handlers.
    pub(crate) fn is(&self, other: &Handlers) -> bool {
        self.0.as_ref().map(Arc::as_ptr) == other.0.as_ref().map(Arc::as_ptr)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the list, unless it is empty.
    pub(crate) fn list(&self) -> Option<&Arc<[Handler]>> {
        self.0.as_ref()
    }

    /// Returns the events for which any of them is called.
    pub(crate) fn filter(&self) -> EventFilter {
        self.as_slice().iter().fold(EventFilter::NONE, |filter, handler| filter.or(handler.filter))
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[Handler] {
        self.0.as_deref().unwrap_or_default()
    }
}
