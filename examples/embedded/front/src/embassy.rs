//! What embassy lends to a bulkhead: the clock and the timers of embassy-time. Copy this file; all else is as on any runtime.

use bulklink::{Clock, Instant, Timer};
use embassy_time::TICK_HZ;

/// A bulkhead whose limits are measured by embassy-time.
pub type Bulkhead = bulklink::Bulkhead<Embassy>;

/// A request whose deadlines are embassy's instants.
pub type Request = bulklink::Request<embassy_time::Instant>;

/// The one embassy that a program has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Embassy;

const NANOS: u64 = 1_000_000_000;

impl Clock for Embassy {
    type Instant = embassy_time::Instant;

    fn now(&self) -> Instant {
        self.instant(embassy_time::Instant::now())
    }

    /// `embassy_time::Instant::MAX` lies beyond what can be counted, and becomes the far future.
    fn instant(&self, at: embassy_time::Instant) -> Instant {
        let (seconds, ticks) = (at.as_ticks() / TICK_HZ, at.as_ticks() % TICK_HZ);
        Instant::from_nanos(seconds.saturating_mul(NANOS).saturating_add(ticks * NANOS / TICK_HZ))
    }
}

impl Timer for Embassy {
    type Sleep = embassy_time::Timer;

    /// At the first tick that is not too early.
    fn sleep_until(&self, deadline: Instant) -> embassy_time::Timer {
        let (seconds, nanos) = (deadline.as_nanos() / NANOS, deadline.as_nanos() % NANOS);
        let ticks = seconds.saturating_mul(TICK_HZ).saturating_add((nanos * TICK_HZ).div_ceil(NANOS));
        embassy_time::Timer::at(embassy_time::Instant::from_ticks(ticks))
    }
}
