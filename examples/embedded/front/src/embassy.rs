//! The clock and the timers of embassy-time for a bulkhead. Copy this file; everything else is as
//! on any runtime.

use bulklink::runtime::{Clock, Instant, Timer};
use embassy_time::TICK_HZ;

/// A bulkhead with embassy-time as its clock.
pub type Bulkhead = bulklink::Bulkhead<Embassy>;

/// A request with deadlines in embassy's instants.
pub type Request = bulklink::Request<embassy_time::Instant>;

/// The clock and timers of embassy-time, of which a program has one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Embassy;

const NANOS: u64 = 1_000_000_000;

impl Clock for Embassy {
    type Instant = embassy_time::Instant;

    fn now(&self) -> Instant {
        self.instant(embassy_time::Instant::now())
    }

    /// Converts embassy's instant. `embassy_time::Instant::MAX` is out of range, and becomes the
    /// far future.
    fn instant(&self, at: embassy_time::Instant) -> Instant {
        let (seconds, ticks) = (at.as_ticks() / TICK_HZ, at.as_ticks() % TICK_HZ);
        Instant::from_nanos(seconds.saturating_mul(NANOS).saturating_add(ticks * NANOS / TICK_HZ))
    }
}

impl Timer for Embassy {
    type Sleep = embassy_time::Timer;

    /// Returns a timer that fires at the first tick at or after the deadline.
    fn sleep_until(&self, deadline: Instant) -> embassy_time::Timer {
        let (seconds, nanos) = (deadline.as_nanos() / NANOS, deadline.as_nanos() % NANOS);
        let ticks = seconds.saturating_mul(TICK_HZ).saturating_add((nanos * TICK_HZ).div_ceil(NANOS));
        embassy_time::Timer::at(embassy_time::Instant::from_ticks(ticks))
    }
}
