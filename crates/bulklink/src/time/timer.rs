//! A timer that is made when it is needed.

use alloc::boxed::Box;
use core::future::Future;
use core::pin::Pin;
use core::task::Context;

use bulklink_core::Instant;
use pin_project_lite::pin_project;

use crate::Timer;

/// A sleep of the runtime that is made when it is first needed and can be reset, and a value that
/// shares its box.
///
/// It is boxed because most calls never make one, and it is larger than the rest of a call.
pub(crate) struct LazySleep<T, X = ()>(Pin<Box<Boxed<T, X>>>);

pin_project! {
    struct Boxed<T, X> {
        #[pin]
        sleep: Option<T>,
        beside: X,
    }
}

impl<T, X> LazySleep<T, X> {
    pub(crate) fn new(beside: X) -> Self {
        LazySleep(Box::pin(Boxed { sleep: None, beside }))
    }

    /// Returns the value that shares the box.
    #[cfg(feature = "tracing")]
    pub(crate) fn beside(&self) -> &X {
        &self.0.beside
    }

    #[cfg(feature = "tracing")]
    pub(crate) fn beside_mut(&mut self) -> &mut X {
        self.0.as_mut().project().beside
    }
}

impl<T: Future<Output = ()>, X> LazySleep<T, X> {
    /// Drops the sleep. The next call of [`arm`](LazySleep::arm) makes a new one.
    pub(crate) fn reset(&mut self) {
        self.0.as_mut().project().sleep.set(None);
    }

    /// Makes a sleep until `deadline`, in place of the present one.
    pub(crate) fn set<R: Timer<Sleep = T>>(&mut self, deadline: Instant, runtime: &R) {
        self.0.as_mut().project().sleep.set(Some(runtime.sleep_until(deadline)));
    }

    /// Polls the sleep, and makes it first if there is none, so that the task is woken at
    /// `deadline`. A sleep that exists must have been made for the same deadline.
    pub(crate) fn arm<R: Timer<Sleep = T>>(&mut self, deadline: Instant, runtime: &R, context: &mut Context<'_>) {
        if self.0.sleep.is_none() {
            self.set(deadline, runtime);
        }
        let fired = self.0.as_mut().project().sleep.as_pin_mut().is_some_and(|sleep| sleep.poll(context).is_ready());
        if fired {
            // The sleep completed early: the caller has just read the clock. Yield before a new one
            // is made, or a sleep that always completes early would loop here without end.
            self.reset();
            context.waker().wake_by_ref();
        }
    }
}
