//! What the contract has to know of a runtime.

use std::future::Future;
use std::ops::Add;
use std::time::Duration;

use bulklink::{Clock, Runtime, Spawn, SpawnBlocking};

/// How a runtime is made and driven.
pub trait Harness: Sync {
    /// What a bulkhead takes from it.
    type Runtime: Runtime<Instant: Add<Duration, Output = <Self::Runtime as Clock>::Instant> + Send, Sleep: Send>
        + Spawn
        + SpawnBlocking;

    /// Starts a runtime of its own, which ends when this is dropped; or names the only one of the process.
    fn start() -> Self;

    /// What bulkheads are made on: the same for every harness of this type.
    fn runtime() -> Self::Runtime;

    /// The present, as its users write it.
    fn present(&self) -> <Self::Runtime as Clock>::Instant;

    /// Runs a future to its end on this thread. May be called on several at once.
    fn block_on<T>(&self, future: impl Future<Output = T>) -> T;
}
