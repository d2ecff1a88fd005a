//! Operations that the runtime runs in the background: admitted or queued when they are submitted.

mod closure;
mod error;
mod handle;
mod job;
mod task;

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::future::Future;

pub use error::{JoinError, Panic, SubmitError};
pub use handle::JoinHandle;
use job::{Job, Stage};
use task::Task;

use crate::acquire::future::{Acquire, Asked};
use crate::time::runtime::DynClock;
use crate::{BoundRequest, Bulkhead, Rejection, Runtime, Spawn, SpawnBlocking};

/// # Run an operation in the background
impl<R: Runtime<Sleep: Send>> Bulkhead<R> {
    /// Runs `operation` in a slot in the background, and returns a handle immediately.
    ///
    /// The call decides immediately whether the operation gets a slot, a place in the queue, or
    /// neither. So operations are admitted in the order in which they were submitted, and a burst
    /// that fits the slots and the waiting room is never rejected. The runtime of this thread runs
    /// the operation, also while it waits. Dropping the handle [detaches](JoinHandle) it.
    ///
    /// # Errors
    ///
    /// Immediately, if there is neither a slot nor a place in the waiting room, if the bulkhead is
    /// closed, if the wait has a limit and the runtime has no timer, or if the runtime refuses the
    /// task. Later, through the handle, if the wait limit passes or the bulkhead is closed while
    /// the operation is in the queue. In all these cases the operation has not begun.
    ///
    /// # Fairness
    ///
    /// First come, first served, counted from this call.
    ///
    /// # Examples
    ///
    /// ```
    /// use bulklink_tokio::Bulkhead;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let payments = Bulkhead::builder("payments").parallelism(1).waiting_room(1).build()?;
    /// let first = payments.submit(async { "paid" })?;
    /// let second = payments.submit(async { "paid too" })?;
    /// assert!(payments.submit(async { "paid as well" }).is_err());
    /// assert_eq!(first.await?, "paid");
    /// assert_eq!(second.await?, "paid too");
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "spawn")]
    pub fn submit<F>(&self, operation: F) -> Result<JoinHandle<F::Output>, SubmitError>
    where
        R: Spawn,
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.owned().submit(operation)
    }

    /// Runs a closure in a slot, on a thread of the runtime that may block, and returns a handle
    /// immediately. In all else it is as [`submit`](Bulkhead::submit).
    ///
    /// The closure holds its slot until it ends, even if the handle is cancelled or dropped,
    /// because a thread cannot be stopped. A closure that is [cancelled](JoinHandle::cancel) before
    /// it began never runs. A task waits in the queue for the closure, not a thread.
    ///
    /// A closure that hangs for good cannot be written off, because it owns its slot. Where that
    /// can happen, acquire the slot with [`owned`](Bulkhead::owned), run the closure
    /// without it, and [forget](crate::OwnedSlot::forget) the slot once the closure takes too long.
    ///
    /// # Errors
    ///
    /// As [`submit`](Bulkhead::submit).
    ///
    /// # Examples
    ///
    /// ```
    /// use bulklink_tokio::Bulkhead;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let files = Bulkhead::builder("files").parallelism(4).waiting_room(100).build()?;
    /// let read = files.submit_blocking(|| std::fs::read("Cargo.toml"))?;
    /// assert!(read.await?.is_ok());
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "spawn_blocking")]
    pub fn submit_blocking<T, C>(&self, operation: C) -> Result<JoinHandle<T>, SubmitError>
    where
        R: Spawn + SpawnBlocking,
        C: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.owned().submit_blocking(operation)
    }
}

/// # Run an operation in the background
impl<R: Runtime<Sleep: Send>> BoundRequest<R> {
    /// Runs `operation` in a slot in the background, and returns a handle immediately, as
    /// [`Bulkhead::submit`]. A limit and a deadline count from this call.
    ///
    /// The operation keeps its partition, if it has one, until it has ended, and does not keep the
    /// [`Partitions`](crate::Partitions): if their last clone is dropped, it continues.
    ///
    /// # Errors
    ///
    /// As [`Bulkhead::submit`]; also, immediately, if the deadline is past, if the cost is zero or
    /// more than the whole capacity, or if the key got no partition.
    #[doc(alias("spawn", "submit_with"))]
    pub fn submit<F>(self, operation: F) -> Result<JoinHandle<F::Output>, SubmitError>
    where
        R: Spawn,
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let (runtime, clock, stage) = self.admit()?;
        let job = Job::new(stage, clock);
        let task = Task::new(operation, &job);
        // Made first: if the runtime polls the task and then refuses it, dropping the handle also
        // drops the waker that keeps the task.
        let handle = JoinHandle::new(Arc::clone(&job));
        job.launch(|| runtime.spawn(task))?;
        Ok(handle)
    }

    /// Runs a closure in a slot, on a thread of the runtime that may block, and returns a handle
    /// immediately, as [`Bulkhead::submit_blocking`]. A limit and a deadline count from this call.
    ///
    /// # Errors
    ///
    /// As [`submit`](BoundRequest::submit).
    #[doc(alias("spawn_blocking", "submit_blocking_with"))]
    pub fn submit_blocking<T, C>(self, operation: C) -> Result<JoinHandle<T>, SubmitError>
    where
        R: Spawn + SpawnBlocking,
        C: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let (runtime, clock, stage) = self.admit()?;
        let waits = matches!(stage, Stage::Queued(_));
        let job = Job::new(stage, clock);
        let task = Task::new(operation, &job);
        if waits {
            task.launch_queued(&runtime)?;
        } else {
            task.launch(&runtime)?;
        }
        Ok(JoinHandle::new(job))
    }

    /// Asks for admission. A queued operation has no waker and no timer until its task polls it.
    #[expect(clippy::type_complexity, reason = "what a task is made of")]
    fn admit<T>(self) -> Result<(R, Arc<dyn DynClock>, Stage<T>), SubmitError> {
        let (entered, runtime, request) = self.resolve();
        let call = Acquire::new(entered.inspect_err(Rejection::count)?, runtime.clone(), request);
        let clock = call.clock();
        let stage = match call.ask()? {
            Asked::Granted(claim) => Stage::Granted(claim),
            Asked::Queued(call) => Stage::Queued(Box::pin(call)),
        };
        Ok((runtime, clock, stage))
    }
}
