//! The clock and the timers: the clock of the standard library, and the timers of async-io, on
//! which async-std's own are built.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bulklink::StdClock;
use bulklink::runtime::{Clock, Instant, Timer};

use crate::AsyncStd;

impl Clock for AsyncStd {
    type Instant = std::time::Instant;

    #[inline]
    fn now(&self) -> Instant {
        StdClock.now()
    }

    fn instant(&self, at: std::time::Instant) -> Instant {
        StdClock.instant(at)
    }
}

impl Timer for AsyncStd {
    type Sleep = AsyncStdSleep;

    fn sleep_until(&self, deadline: Instant) -> AsyncStdSleep {
        AsyncStdSleep(StdClock.to_std(deadline).map_or_else(async_io::Timer::never, async_io::Timer::at))
    }
}

/// A timer of async-std.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct AsyncStdSleep(async_io::Timer);

impl Future for AsyncStdSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(context).map(drop)
    }
}
