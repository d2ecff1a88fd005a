//! A cheap clock: the processor's time stamp counter.

use std::sync::OnceLock;
use std::time::Duration;

use bulklink_core::Instant;

use crate::Clock;

/// The time stamp counter as a clock, for adapters to build a runtime on: a reading takes less than half of the system clock's.
///
/// Where the processor has no counter that runs at one speed on all cores, the system's clock is read instead. The first use in
/// a process calibrates the counter, which takes about a millisecond. Against the system's clock it may drift by some parts in a
/// million, so a limit of ten seconds may end some microseconds early or late.
///
/// It shows real time: what a runtime does to its own clock in a test, such as pausing it, does not move it.
///
/// ```
/// use bulklink::{Clock, Tsc};
///
/// let before = Tsc.now();
/// assert!(Tsc.now() >= before);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tsc;

/// Centuries from either end, so that instants before the first reading have room.
const ANCHOR: Instant = Instant::from_nanos(1 << 62);

struct Counter {
    clock: quanta::Clock,
    first: u64,
}

fn counter() -> &'static Counter {
    static COUNTER: OnceLock<Counter> = OnceLock::new();
    COUNTER.get_or_init(|| {
        let clock = quanta::Clock::new();
        let first = clock.raw();
        Counter { clock, first }
    })
}

impl Clock for Tsc {
    type Instant = Instant;

    fn now(&self) -> Instant {
        let Counter { clock, first } = counter();
        ANCHOR.saturating_add(Duration::from_nanos(clock.delta_as_nanos(*first, clock.raw())))
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }
}
