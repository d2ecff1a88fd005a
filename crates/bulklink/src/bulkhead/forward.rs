//! The usual methods of the handle, on the bulkhead too, so that its page shows them.

use core::time::Duration;

use bulklink_core::{Limits, Resized};

use crate::{Bulkhead, Closed, ReconfigureError, Reconfigured, ResizeError, Status};

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

    /// Estimates how long a call of this cost, made now, would have to wait, as for `Retry-After`.
    /// Call it for each rejection: it samples the rate. [More](crate::Handle::estimated_wait)
    #[must_use]
    #[inline]
    pub fn estimated_wait(&self, cost: usize) -> Option<Duration> {
        self.handle.estimated_wait(cost)
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

    /// Closes the bulkhead immediately, and completes when the last operation has ended.
    /// [More](crate::Handle::close_and_wait)
    #[inline]
    pub fn close_and_wait(&self) -> Closed<'_> {
        self.handle.close_and_wait()
    }
}
