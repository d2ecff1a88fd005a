//! Where the calls of the async front run: an executor, and a time that passes when it is told to.

mod fake;
mod tokio;

use std::future::Future;

use bulklink::{Clock, Runtime};
use bulklink_core::Instant;

pub use fake::FakeWorld;
pub use tokio::PausedTokio;

pub trait World {
    /// What bulkheads are made on.
    type Runtime: Runtime<Sleep: Send>;

    /// A world in which it is the traces' time 0.
    fn new() -> Self;

    fn runtime(&self) -> Self::Runtime;

    /// A point in the traces' time, as the runtime's users write it.
    fn instant(&self, at: Instant) -> <Self::Runtime as Clock>::Instant;

    /// Adds a task, and returns what drops it where it stands.
    fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) -> Box<dyn FnOnce()>;

    /// Runs all tasks to idle.
    fn settle(&mut self);

    /// Lets time pass, stopping at every timer on the way, with all tasks run to idle there.
    fn pass_time(&mut self, to: Instant);

    /// Does something in this world that is no task.
    fn act<T>(&self, deed: impl FnOnce() -> T) -> T;
}
