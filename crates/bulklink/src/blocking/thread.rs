//! What a blocked thread lends to its wait: a clock, and itself for a timer.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use bulklink_core::Instant;

use super::parker::Parker;
use crate::{Clock, Timer};

/// The clock of a bulkhead, and the thread that is blocked in one call to it.
#[derive(Clone)]
pub(crate) struct Thread<C> {
    clock: C,
    parker: Arc<Parker>,
}

/// Its only timer: the thread wakes itself, unless the clock has to.
pub(crate) struct Alarm(Option<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl<C: Clock> Thread<C> {
    /// The thread that calls, on this clock.
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
    type Sleep = Alarm;

    fn sleep_until(&self, deadline: Instant) -> Alarm {
        let by_clock = self.clock.blocking_sleep_until(deadline);
        if by_clock.is_none() {
            self.parker.set_alarm(deadline);
        }
        Alarm(by_clock)
    }
}

impl Future for Alarm {
    type Output = ();

    /// The thread that wakes itself looks at the clock then.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().map_or(Poll::Pending, |sleep| sleep.as_mut().poll(context))
    }
}
