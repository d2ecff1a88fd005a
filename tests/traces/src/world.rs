//! Where the calls of the async front run: an executor with virtual time.

mod fake;
mod tokio;

use std::future::Future;

use bulklink::runtime::{Clock, Runtime};
use bulklink_core::Instant;

pub use fake::FakeWorld;
pub use tokio::PausedTokio;

pub trait World {
    /// The runtime that bulkheads use.
    type Runtime: Runtime<Sleep: Send>;

    /// Makes a world at the traces' time 0.
    fn new() -> Self;

    fn runtime(&self) -> Self::Runtime;

    /// Converts a point in the traces' time to the type that users of the runtime have.
    fn instant(&self, at: Instant) -> <Self::Runtime as Clock>::Instant;

    /// Spawns a task, and returns a function that drops it in its current state.
    fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) -> Box<dyn FnOnce()>;

    /// Runs all tasks until they are idle.
    fn settle(&mut self);

    /// Lets time pass. Stops at every timer on the way and runs all tasks until they are idle.
    fn pass_time(&mut self, to: Instant);

    /// Runs an action in this world, outside of its tasks.
    fn act<T>(&self, action: impl FnOnce() -> T) -> T;
}
