//! A timer that rings no sooner than it should.

use alloc::boxed::Box;
use core::future::Future;
use core::pin::Pin;
use core::task::Context;

use bulklink_core::Instant;

use crate::Timer;

/// A timer of a runtime, made when it is needed and boxed: most never are, and it is larger than all the rest.
pub(crate) struct LazySleep<T>(Pin<Box<Option<T>>>);

impl<T: Future<Output = ()>> LazySleep<T> {
    pub(crate) fn new() -> Self {
        LazySleep(Box::pin(None))
    }

    /// The timer is made anew when it is armed next.
    pub(crate) fn reset(&mut self) {
        self.0.set(None);
    }

    pub(crate) fn set<R: Timer<Sleep = T>>(&mut self, deadline: Instant, runtime: &R) {
        self.0.set(Some(runtime.sleep_until(deadline)));
    }

    /// Sees to it that the task is woken at the deadline. What is set already must be for the same.
    pub(crate) fn arm<R: Timer<Sleep = T>>(&mut self, deadline: Instant, runtime: &R, context: &mut Context<'_>) {
        if self.0.is_none() {
            self.set(deadline, runtime);
        }
        let fired = self.0.as_mut().as_pin_mut().is_some_and(|sleep| sleep.poll(context).is_ready());
        if fired {
            // Too early. Others get their turn before it is armed anew, or a timer that always is would spin here.
            self.reset();
            context.waker().wake_by_ref();
        }
    }
}
