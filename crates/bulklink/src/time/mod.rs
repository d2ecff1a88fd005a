//! Clocks, timers, and the background task that expires waiters.

pub(crate) mod driver;
pub(crate) mod runtime;
#[cfg(feature = "std")]
pub(crate) mod std_clock;
pub(crate) mod timer;
#[cfg(feature = "tsc")]
pub(crate) mod tsc;
