//! The methods of the handle, on the bulkhead too, so that its page shows what it can do.

use alloc::vec::Vec;
use core::time::Duration;

use bulklink_core::{InvalidArgument, Limits, Resized, Restriction};

use crate::{
    Bulkhead, Ceiling, Closed, Event, EventFilter, EventReceiver, HandlerId, ReconfigureError, Reconfigured,
    ResizeError, Status,
};

/// # Status
impl<R> Bulkhead<R> {
    /// Returns the bulkhead's name. [More](crate::Handle::label)
    #[must_use]
    #[inline]
    pub fn label(&self) -> &str {
        self.handle.label()
    }

    /// Returns all figures at this moment. [More](crate::Handle::status)
    #[must_use]
    #[inline]
    pub fn status(&self) -> Status {
        self.handle.status()
    }

    /// Returns the units that are free at this moment; zero while paused.
    /// [More](crate::Handle::free)
    #[must_use]
    #[doc(alias = "available_permits")]
    #[inline]
    pub fn free(&self) -> usize {
        self.handle.free()
    }

    /// Estimates how long a call of this cost, made now, would have to wait, as for `Retry-After`.
    /// [More](crate::Handle::estimated_wait)
    #[must_use]
    #[inline]
    pub fn estimated_wait(&self, cost: usize) -> Option<Duration> {
        self.handle.estimated_wait(cost)
    }

    /// Returns whether the bulkhead is paused. [More](crate::Handle::is_paused)
    #[must_use]
    #[inline]
    pub fn is_paused(&self) -> bool {
        self.handle.is_paused()
    }

    /// Returns whether the bulkhead is closed. [More](crate::Handle::is_closed)
    #[must_use]
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.handle.is_closed()
    }
}

/// # Limits
impl<R> Bulkhead<R> {
    /// Returns the limits in force. [More](crate::Handle::limits)
    #[must_use]
    #[inline]
    pub fn limits(&self) -> Limits {
        self.handle.limits()
    }

    /// Changes the parallelism, or the capacity in units, while calls run.
    /// [More](crate::Handle::resize)
    ///
    /// # Errors
    ///
    /// As [the handle's](crate::Handle::resize).
    #[inline]
    pub fn resize(&self, capacity: usize) -> Result<Resized, ResizeError> {
        self.handle.resize(capacity)
    }

    /// Changes all limits in one step, while calls run. [More](crate::Handle::reconfigure)
    ///
    /// # Errors
    ///
    /// As [the handle's](crate::Handle::reconfigure).
    #[inline]
    pub fn reconfigure(&self, limits: Limits) -> Result<Reconfigured, ReconfigureError> {
        self.handle.reconfigure(limits)
    }

    /// Makes a bound besides the capacity, for a controller of this name.
    /// [More](crate::Handle::ceiling)
    #[inline]
    pub fn ceiling(&self, by: &'static str) -> Ceiling {
        self.handle.ceiling(by)
    }

    /// Returns what each ceiling allows that is set. [More](crate::Handle::ceilings)
    #[must_use]
    #[inline]
    pub fn ceilings(&self) -> Vec<Restriction> {
        self.handle.ceilings()
    }
}

/// # Pause and close
impl<R> Bulkhead<R> {
    /// Admits no call until [`resume`](Bulkhead::resume). Returns whether this changed anything.
    /// [More](crate::Handle::pause)
    #[inline]
    pub fn pause(&self) -> bool {
        self.handle.pause()
    }

    /// Ends a pause, and admits waiting calls in order. Returns whether there was one.
    /// [More](crate::Handle::resume)
    #[inline]
    pub fn resume(&self) -> bool {
        self.handle.resume()
    }

    /// Rejects all waiting and all later calls; running operations go on. Returns whether it was
    /// open. [More](crate::Handle::close)
    #[inline]
    pub fn close(&self) -> bool {
        self.handle.close()
    }

    /// Completes when the bulkhead is closed and the last operation has ended.
    /// [More](crate::Handle::closed)
    #[doc(alias = "wait_closed")]
    #[inline]
    pub fn closed(&self) -> Closed<'_> {
        self.handle.closed()
    }

    /// Closes the bulkhead immediately, and completes when the last operation has ended.
    /// [More](crate::Handle::close_and_wait)
    #[inline]
    pub fn close_and_wait(&self) -> Closed<'_> {
        self.handle.close_and_wait()
    }

    /// Takes back slots that waiting calls were handed at least `least_age` ago and have not
    /// collected. Returns their number. [More](crate::Handle::take_back_uncollected)
    #[inline]
    pub fn take_back_uncollected(&self, least_age: Duration) -> usize {
        self.handle.take_back_uncollected(least_age)
    }
}

/// # Events
impl<R> Bulkhead<R> {
    /// Calls `handler` for every later event. Returns what removes it.
    /// [More](crate::Handle::add_event_handler)
    #[inline]
    pub fn add_event_handler(&self, handler: impl Fn(&Event) + Send + Sync + 'static) -> HandlerId {
        self.handle.add_event_handler(handler)
    }

    /// Calls `handler` for every later event of the filter. Returns what removes it.
    /// [More](crate::Handle::add_event_handler_for)
    #[inline]
    pub fn add_event_handler_for(
        &self,
        filter: EventFilter,
        handler: impl Fn(&Event) + Send + Sync + 'static,
    ) -> HandlerId {
        self.handle.add_event_handler_for(filter, handler)
    }

    /// Stops calling a handler. Returns whether it was removed.
    /// [More](crate::Handle::remove_event_handler)
    #[inline]
    pub fn remove_event_handler(&self, id: HandlerId) -> bool {
        self.handle.remove_event_handler(id)
    }

    /// Subscribes to the events, for an async consumer, which keeps the latest `capacity` of them.
    /// [More](crate::Handle::subscribe)
    ///
    /// # Errors
    ///
    /// As [the handle's](crate::Handle::subscribe).
    #[doc(alias = "event_channel")]
    #[inline]
    pub fn subscribe(&self, capacity: usize) -> Result<EventReceiver, InvalidArgument> {
        self.handle.subscribe(capacity)
    }

    /// Subscribes to the events of the filter, for an async consumer.
    /// [More](crate::Handle::subscribe_for)
    ///
    /// # Errors
    ///
    /// As [the handle's](crate::Handle::subscribe_for).
    #[inline]
    pub fn subscribe_for(&self, filter: EventFilter, capacity: usize) -> Result<EventReceiver, InvalidArgument> {
        self.handle.subscribe_for(filter, capacity)
    }

    /// Returns how often a handler has panicked. [More](crate::Handle::handler_panics)
    #[must_use]
    #[inline]
    pub fn handler_panics(&self) -> usize {
        self.handle.handler_panics()
    }

    /// Returns how many events no handler was called for. [More](crate::Handle::dropped_events)
    #[must_use]
    #[inline]
    pub fn dropped_events(&self) -> usize {
        self.handle.dropped_events()
    }
}
