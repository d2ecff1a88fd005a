//! The clock of the standard library, for bulkheads that only threads enter.

#[cfg(feature = "std")]
use bulklink_core::Instant;

#[cfg(feature = "std")]
use crate::{Clock, StdClock};

/// What a [`blocking::Bulkhead`](super::Bulkhead) runs on that has no async runtime: the clock of the standard library.
///
/// It has no timers to give, so it is no [`Runtime`](crate::Runtime), and nobody can await a slot of such a bulkhead. Where
/// threads and tasks are to share one, make it on the tasks' runtime and let the threads in by
/// [`blocking`](crate::Bulkhead::blocking).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Threads;

#[cfg(feature = "std")]
impl Clock for Threads {
    type Instant = std::time::Instant;

    fn now(&self) -> Instant {
        StdClock.now()
    }

    fn instant(&self, at: std::time::Instant) -> Instant {
        StdClock.instant(at)
    }
}
