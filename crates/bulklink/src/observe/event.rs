//! Events and their handlers.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::Waker;

use bulklink_core::{EventFilter, Instant};

use crate::foreign::contain;
use crate::observe::channel::Sender;
use crate::time::runtime::DynClock;

/// A transition of a bulkhead, with the figures right after it. It never holds arguments or results
/// of an operation.
///
/// It dereferences to the gate's own event, a [`GateEvent`](crate::GateEvent). That has the fields
/// `kind`, an [`EventKind`](crate::EventKind); `occupancy`, the figures right after the transition,
/// an [`Occupancy`](crate::Occupancy); `number`, which counts the events from 1; and `is_closed`.
/// Its methods `waited()`, `cost()`, `from_queue()` and others return what only some kinds have.
///
/// For a histogram of waits, take `waited()` of the admissions among the events of
/// [`EventFilter::WAITS`](crate::EventFilter::WAITS). The calls that were admitted without a wait
/// are [`direct_admitted`](crate::Totals::direct_admitted) in a status.
#[non_exhaustive]
pub struct Event {
    /// The bulkhead's name.
    pub label: Arc<str>,
    /// The event of the core.
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

    pub(crate) fn set_time(&mut self, at: Instant) {
        self.time = Time::At(at);
    }

    /// Returns when the event was delivered, by the bulkhead's clock.
    ///
    /// In a handler, each call reads the clock. A clone has the time at which it was cloned, and an
    /// event of a channel that at which it was put there. Each clock has its own epoch, so only the
    /// difference between two instants has a meaning; see
    /// [`saturating_since`](Instant::saturating_since). An adapter may convert the instant to that
    /// of its runtime, as `Tokio::to_tokio` does.
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

/// Compares the events, not the times of their delivery.
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

impl HandlerId {
    pub(crate) fn new() -> Self {
        static ADDED: AtomicUsize = AtomicUsize::new(1);
        HandlerId(ADDED.fetch_add(1, Ordering::Relaxed))
    }
}

/// A handler, and the events for which it is called.
#[derive(Clone)]
pub(crate) struct Handler {
    id: HandlerId,
    filter: EventFilter,
    target: Target,
}

/// Where the events of a handler go.
#[derive(Clone)]
enum Target {
    Function(Arc<dyn Fn(&Event) + Send + Sync>),
    Channel(Arc<Sender>),
}

impl Handler {
    pub(crate) fn new(filter: EventFilter, function: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        Handler::to(Target::Function(Arc::new(function)), filter)
    }

    pub(crate) fn channel(filter: EventFilter, sender: Sender) -> Self {
        Handler::to(Target::Channel(Arc::new(sender)), filter)
    }

    fn to(target: Target, filter: EventFilter) -> Self {
        Handler { id: HandlerId::new(), filter, target }
    }

    pub(crate) fn id(&self) -> HandlerId {
        self.id
    }

    fn includes(&self, event: &bulklink_core::Event) -> bool {
        self.filter.includes(event.kind, event.from_queue())
    }
}

/// The handlers, in order of registration. A list in use never changes: adding and removing make a
/// new list.
#[derive(Clone, Default)]
pub(crate) struct Handlers(Option<Arc<List>>);

struct List {
    handlers: Vec<Handler>,
    /// The events for which any function is called.
    called_for: EventFilter,
    has_channels: bool,
}

impl Handlers {
    fn of(handlers: Vec<Handler>) -> Self {
        if handlers.is_empty() {
            return Handlers(None);
        }
        let functions = handlers.iter().filter(|handler| matches!(handler.target, Target::Function(_)));
        let called_for = functions.fold(EventFilter::NONE, |filter, handler| filter.or(handler.filter));
        let has_channels = handlers.iter().any(|handler| matches!(handler.target, Target::Channel(_)));
        Handlers(Some(Arc::new(List { handlers, called_for, has_channels })))
    }

    /// Returns the list with the handler at its end.
    pub(crate) fn with(&self, handler: &Handler) -> Handlers {
        Handlers::of(self.as_slice().iter().chain([handler]).cloned().collect())
    }

    /// Returns the list without the handler; `None` if it is not in the list.
    pub(crate) fn without(&self, id: HandlerId) -> Option<Handlers> {
        let others: Vec<_> = self.as_slice().iter().filter(|handler| handler.id != id).cloned().collect();
        (others.len() < self.as_slice().len()).then(|| Handlers::of(others))
    }

    /// Returns whether it is the same list, not only a list of the same handlers.
    pub(crate) fn is(&self, other: &Handlers) -> bool {
        self.0.as_ref().map(Arc::as_ptr) == other.0.as_ref().map(Arc::as_ptr)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the events that any of them gets.
    pub(crate) fn filter(&self) -> EventFilter {
        self.as_slice().iter().fold(EventFilter::NONE, |filter, handler| filter.or(handler.filter))
    }

    pub(crate) fn has_channels(&self) -> bool {
        self.0.as_ref().is_some_and(|list| list.has_channels)
    }

    /// Returns whether a function is called for the event.
    #[inline]
    pub(crate) fn are_called_for(&self, event: &bulklink_core::Event) -> bool {
        self.0.as_ref().is_some_and(|list| list.called_for.includes(event.kind, event.from_queue()))
    }

    /// Calls the functions for the event, outside the lock. Returns how many panicked.
    #[inline]
    pub(crate) fn call(&self, event: &Event) -> usize {
        let mut panics = 0;
        for handler in self.as_slice() {
            if let (Target::Function(function), true) = (&handler.target, handler.includes(event)) {
                panics += usize::from(!contain(|| function(event)));
            }
        }
        panics
    }

    /// Sends the event of this time to the channels. Returns the wakers of the receivers that wait.
    pub(crate) fn send(
        &self,
        event: bulklink_core::Event,
        label: &Arc<str>,
        at: Instant,
    ) -> impl Iterator<Item = Waker> {
        let channels = self.as_slice().iter().filter(move |handler| handler.includes(&event));
        channels.filter_map(move |handler| match &handler.target {
            Target::Channel(sender) => sender.send(Event { label: Arc::clone(label), event, time: Time::At(at) }),
            Target::Function(_) => None,
        })
    }

    #[inline]
    fn as_slice(&self) -> &[Handler] {
        self.0.as_ref().map(|list| list.handlers.as_slice()).unwrap_or_default()
    }
}
