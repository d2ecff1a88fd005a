//! The clock and the timers: the clock of the standard library, and smol's timers on it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bulklink::StdClock;
use bulklink::runtime::{Clock, Instant, Timer};

use crate::Smol;

impl Clock for Smol {
    type Instant = std::time::Instant;

    #[inline]
    fn now(&self) -> Instant {
        StdClock.now()
    }

    fn instant(&self, at: std::time::Instant) -> Instant {
        StdClock.instant(at)
    }
}

impl Timer for Smol {
    type Sleep = SmolSleep;

    fn sleep_until(&self, deadline: Instant) -> SmolSleep {
        SmolSleep(StdClock.to_std(deadline).map_or_else(smol::Timer::never, smol::Timer::at))
    }
}

/// A timer of smol.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct SmolSleep(smol::Timer);

impl Future for SmolSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(context).map(drop)
    }
}
