//! Bulkheads on tokio, in real and in virtual time, and the drain of a service. What the tests of
//! every runtime have is in `tests/promises.rs`.

mod blocking;
mod budget;
#[cfg(feature = "drain")]
mod drain;
mod driver;
mod runtimes;
mod submit;
#[cfg(feature = "tsc")]
mod tsc;
mod uncollected;
