//! What observers are told.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;
use core::panic::{RefUnwindSafe, UnwindSafe};

use bulklink_core::Instant;

use crate::time::runtime::DynClock;

/// One transition of a bulkhead, with the figures right after it. Metadata only, never arguments or results.
///
/// It dereferences to the gate's own event, which has the kind, the figures and the number.
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
    /// It is being delivered: a handler that wants the time reads this clock, and others pay nothing for it.
    Now(Arc<dyn DynClock>),
    At(Instant),
}

impl Event {
    pub(crate) fn new(label: Arc<str>, event: bulklink_core::Event, clock: Arc<dyn DynClock>) -> Self {
        Event { label, event, time: Time::Now(clock) }
    }

    /// When it was delivered, by the bulkhead's clock. In a handler, each call reads the clock. In a clone, which
    /// is what a channel receives, the time is that of the cloning. The clock's epoch is its own: what means
    /// something is the difference between two instants, by [`saturating_since`](Instant::saturating_since).
    /// An adapter may convert it to its runtime's own, as `Tokio::to_tokio` does.
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

/// By what happened, and not by when it was delivered.
impl PartialEq for Event {
    fn eq(&self, other: &Event) -> bool {
        self.label == other.label && self.event == other.event
    }
}

impl Eq for Event {}

/// The clock, which is the only code in it, leaves nothing half-done that an event would show.
impl UnwindSafe for Event {}
impl RefUnwindSafe for Event {}

impl Deref for Event {
    type Target = bulklink_core::Event;

    fn deref(&self) -> &bulklink_core::Event {
        &self.event
    }
}

/// A function that is told of every transition. Its identity is that of the `Arc`.
///
/// ```
/// use bulklink::{Event, EventHandler};
/// use std::sync::Arc;
///
/// let handler: EventHandler = Arc::new(|event: &Event| println!("{}: {:?}", event.label, event.kind));
/// ```
pub type EventHandler = Arc<dyn Fn(&Event) + Send + Sync>;

/// The handlers in order of registration. A list in use is never changed: adding and removing make a new one.
#[derive(Clone, Default)]
pub(crate) struct Handlers(Option<Arc<[EventHandler]>>);

impl Handlers {
    /// The list with the handler at its end; `None` if it is there already.
    pub(crate) fn with(&self, handler: &EventHandler) -> Option<Handlers> {
        if self.as_slice().iter().any(|known| Arc::ptr_eq(known, handler)) {
            return None;
        }
        Some(Handlers(Some(self.as_slice().iter().chain([handler]).cloned().collect())))
    }

    /// The list without the handler; `None` if it is not there.
    pub(crate) fn without(&self, handler: &EventHandler) -> Option<Handlers> {
        let others: Vec<_> = self.as_slice().iter().filter(|known| !Arc::ptr_eq(known, handler)).cloned().collect();
        let found = others.len() < self.as_slice().len();
        found.then(|| Handlers(if others.is_empty() { None } else { Some(others.into()) }))
    }

    /// Whether it is the same list, and not only the same handlers.
    pub(crate) fn is(&self, other: &Handlers) -> bool {
        self.0.as_ref().map(Arc::as_ptr) == other.0.as_ref().map(Arc::as_ptr)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[EventHandler] {
        self.0.as_deref().unwrap_or_default()
    }
}
