//! The runtime of a call that blocks: the clock of its bulkhead, and the thread as its own timer.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use bulklink_core::Instant;

use super::parker::Parker;
use crate::{Clock, Timer};

/// The clock of a bulkhead, together with the thread that is blocked in one call.
#[derive(Clone)]
pub(crate) struct Thread<C> {
    clock: C,
    parker: Arc<Parker>,
}

/// The only timer of a call: pending for ever where the thread wakes itself, or a timer of the
/// clock.
pub(crate) struct ThreadSleep(Option<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl<C: Clock> Thread<C> {
    /// Returns the calling thread as a runtime on this clock.
    pub(crate) fn on(clock: C) -> Self {
        Thread { clock, parker: Parker::new() }
    }

    pub(crate) fn block_on<F: Future>(self, future: F) -> F::Output {
        self.parker.block_on(&self.clock, future)
    }
}

impl<C: Clock> Clock for Thread<C> {
    type Instant = C::Instant;

    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn instant(&self, at: C::Instant) -> Instant {
        self.clock.instant(at)
    }
}

impl<C: Clock> Timer for Thread<C> {
    type Sleep = ThreadSleep;

    fn sleep_until(&self, deadline: Instant) -> ThreadSleep {
        let by_clock = self.clock.blocking_sleep_until(deadline);
        if by_clock.is_none() {
            self.parker.set_deadline(deadline);
        }
        ThreadSleep(by_clock)
    }
}

impl Future for ThreadSleep {
    type Output = ();

    /// A thread that wakes itself reads the clock then, so nothing has to complete here.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().map_or(Poll::Pending, |sleep| sleep.as_mut().poll(context))
    }
}
