//! The runtime of a call that blocks: the clock of its bulkhead, and the thread as its own timer.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::future::{self, Future};
use core::pin::Pin;

use bulklink_core::Instant;

use super::parker::Parker;
use crate::{Clock, Timer};

/// The clock of a bulkhead, together with the thread that is blocked in one call.
#[derive(Clone)]
pub(crate) struct Thread<C> {
    clock: C,
    parker: Arc<Parker>,
}

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
    type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

    /// Returns a timer of the clock, or one that never completes if the thread wakes itself: it
    /// reads the clock then.
    fn sleep_until(&self, deadline: Instant) -> Self::Sleep {
        self.clock.blocking_sleep_until(deadline).unwrap_or_else(|| {
            self.parker.set_deadline(deadline);
            Box::pin(future::pending())
        })
    }
}
