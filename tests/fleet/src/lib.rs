//! Judges what processes share from outside, and measures it beside other schemes: the limit of a
//! fleet, and the circuit of a [`breaker`].
//!
//! Clients in many processes acquire and release, and write down their observations. The
//! [`witness`] reads it afterwards. `cargo xtask fleet` runs all [`scene`]s and prints a table,
//! `cargo xtask breaker` those of the circuit; the tests of this package run short ones.

#![cfg(unix)]
#![forbid(unsafe_code)]

pub mod breaker;
pub mod crew;
pub mod record;
pub mod report;
pub mod scene;
pub mod scheme;
pub mod sim;
pub mod task;
pub mod witness;
pub mod worker;

/// Returns the time of the clock that all processes of this machine share, in nanoseconds.
pub fn now() -> witness::Nanos {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let (seconds, nanos) = (u64::try_from(time.tv_sec).unwrap_or(0), u64::try_from(time.tv_nsec).unwrap_or(0));
    seconds * 1_000_000_000 + nanos
}
