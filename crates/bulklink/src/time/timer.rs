//! A timer that is made when it is needed.

use alloc::boxed::Box;
use core::future::Future;
use core::pin::Pin;
use core::task::Context;

use bulklink_core::Instant;

use crate::Timer;

/// A sleep of the runtime that is made when it is first needed and can be reset.
///
/// It is boxed because most calls never make one, and it is larger than the rest of a call.
pub(crate) struct LazySleep<T>(Pin<Box<Option<T>>>);

impl<T: Future<Output = ()>> LazySleep<T> {
    pub(crate) fn new() -> Self {
        LazySleep(Box::pin(None))
    }

    /// Drops the sleep. The next call of [`arm`](LazySleep::arm) makes a new one.
    pub(crate) fn reset(&mut self) {
        self.0.set(None);
    }

    /// Makes a sleep until `deadline`, in place of the present one.
    pub(crate) fn set<R: Timer<Sleep = T>>(&mut self, deadline: Instant, runtime: &R) {
        self.0.set(Some(runtime.sleep_until(deadline)));
    }

    /// Polls the sleep, and makes it first if there is none, so that the task is woken at
    /// `deadline`. A sleep that exists must have been made for the same deadline.
    pub(crate) fn arm<R: Timer<Sleep = T>>(&mut self, deadline: Instant, runtime: &R, context: &mut Context<'_>) {
        if self.0.is_none() {
            self.set(deadline, runtime);
        }
        let fired = self.0.as_mut().as_pin_mut().is_some_and(|sleep| sleep.poll(context).is_ready());
        if fired {
            // The sleep completed early: the caller has just read the clock. Yield before a new one
            // is made, or a sleep that always completes early would loop here without end.
            self.reset();
            context.waker().wake_by_ref();
        }
    }
}
