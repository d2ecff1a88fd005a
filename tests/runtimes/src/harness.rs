//! The knowledge of the suite about a runtime.

use std::future::Future;
use std::ops::Add;
use std::time::Duration;

use bulklink::runtime::{Clock, Runtime, Spawn, SpawnBlocking};

/// How a runtime is made and driven.
pub trait Harness: Sync {
    /// The runtime that bulkheads use.
    type Runtime: Runtime<Instant: Add<Duration, Output = <Self::Runtime as Clock>::Instant> + Send, Sleep: Send>
        + Spawn
        + SpawnBlocking;

    /// Starts a new runtime, which ends when this is dropped, or returns the only one of the
    /// process.
    fn start() -> Self;

    /// Returns the runtime for bulkheads, which is the same for every harness of this type.
    fn runtime() -> Self::Runtime;

    /// Returns the current time, in the type that users of the runtime have.
    fn present(&self) -> <Self::Runtime as Clock>::Instant;

    /// Runs a future to its end on this thread. May be called on several threads at the same time.
    fn block_on<T>(&self, future: impl Future<Output = T>) -> T;
}
