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
use crate::gate::shared::Shared;
use crate::{Bulkhead, Request, Runtime, Spawn, SpawnBlocking};

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
    /// # use bulklink::testing::{Executor, FakeClock};
    /// # use bulklink::Bulkhead;
    /// # let mut executor = Executor::new(FakeClock::new());
    /// let builder = Bulkhead::builder_on(executor.runtime(), "payments");
    /// let payments = builder.parallelism(1).waiting_room(1).build()?;
    /// let first = payments.submit(async { "paid" })?;
    /// let second = payments.submit(async { "paid too" })?;
    /// assert!(payments.submit(async { "paid as well" }).is_err());
    /// # executor.block_on(async move {
    /// assert_eq!(first.await?, "paid");
    /// assert_eq!(second.await?, "paid too");
    /// # Ok::<(), bulklink::JoinError>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "spawn")]
    pub fn submit<F>(&self, operation: F) -> Result<JoinHandle<F::Output>, SubmitError>
    where
        R: Spawn,
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.submit_with(Request::new(), operation)
    }

    /// As [`submit`](Bulkhead::submit), with a cost, a limit or a deadline for this call. The limit
    /// counts from this call.
    ///
    /// # Errors
    ///
    /// As [`submit`](Bulkhead::submit); also, immediately, if the deadline is past, or if the cost
    /// is zero or more than the whole capacity.
    pub fn submit_with<F>(
        &self,
        request: Request<R::Instant>,
        operation: F,
    ) -> Result<JoinHandle<F::Output>, SubmitError>
    where
        R: Spawn,
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        submit(self.call(request), self.runtime(), operation)
    }

    /// Runs `operation` in the background if a slot is free now and no call waits for it.
    ///
    /// # Errors
    ///
    /// Immediately, if no slot is free, if the bulkhead is closed, or if the runtime refuses the
    /// task.
    pub fn try_submit<F>(&self, operation: F) -> Result<JoinHandle<F::Output>, SubmitError>
    where
        R: Spawn,
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.submit_with(Request::new().now(), operation)
    }

    /// Runs a closure in a slot, on a thread of the runtime that may block, and returns a handle
    /// immediately. In all else it is as [`submit`](Bulkhead::submit).
    ///
    /// The closure holds its slot until it ends, even if the handle is cancelled or dropped,
    /// because a thread cannot be stopped. A closure that is [cancelled](JoinHandle::cancel) before
    /// it began never runs. A task waits in the queue for the closure, not a thread.
    ///
    /// A closure that hangs for good cannot be written off, because it owns its slot. Where that
    /// can happen, acquire the slot with [`slot_owned`](Bulkhead::slot_owned), run the closure
    /// without it, and [forget](crate::OwnedSlot::forget) the slot once the closure takes too long.
    ///
    /// # Errors
    ///
    /// As [`submit`](Bulkhead::submit).
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink::testing::{Executor, FakeClock};
    /// # use bulklink::Bulkhead;
    /// # let mut executor = Executor::new(FakeClock::new());
    /// let builder = Bulkhead::builder_on(executor.runtime(), "files");
    /// let files = builder.parallelism(4).waiting_room(100).build()?;
    /// let read = files.submit_blocking(|| std::fs::read("Cargo.toml"))?;
    /// # executor.block_on(async move {
    /// assert!(read.await?.is_ok());
    /// # Ok::<(), bulklink::JoinError>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "spawn_blocking")]
    pub fn submit_blocking<T, C>(&self, operation: C) -> Result<JoinHandle<T>, SubmitError>
    where
        R: Spawn + SpawnBlocking,
        C: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.submit_blocking_with(Request::new(), operation)
    }

    /// As [`submit_blocking`](Bulkhead::submit_blocking), with a cost, a limit or a deadline for
    /// this call. The limit counts from this call.
    ///
    /// # Errors
    ///
    /// As [`submit_with`](Bulkhead::submit_with).
    pub fn submit_blocking_with<T, C>(
        &self,
        request: Request<R::Instant>,
        operation: C,
    ) -> Result<JoinHandle<T>, SubmitError>
    where
        R: Spawn + SpawnBlocking,
        C: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        submit_blocking(self.call(request), self.runtime(), operation)
    }

    /// Runs a closure on a thread that may block, if a slot is free now and no call waits for it.
    ///
    /// # Errors
    ///
    /// Immediately, if no slot is free, if the bulkhead is closed, or if the runtime refuses the
    /// task.
    pub fn try_submit_blocking<T, C>(&self, operation: C) -> Result<JoinHandle<T>, SubmitError>
    where
        R: Spawn + SpawnBlocking,
        C: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.submit_blocking_with(Request::new().now(), operation)
    }

    fn call(&self, request: Request<R::Instant>) -> Acquire<Arc<Shared>, R> {
        let runtime = self.runtime().clone();
        let request = request.on(&runtime);
        Acquire::new(Arc::clone(&self.shared), runtime, request)
    }
}

/// Runs `operation` on `runtime` in the slot of `call`, as [`Bulkhead::submit_with`] says.
pub(crate) fn submit<R, F>(
    call: Acquire<Arc<Shared>, R>,
    runtime: &R,
    operation: F,
) -> Result<JoinHandle<F::Output>, SubmitError>
where
    R: Runtime<Sleep: Send> + Spawn,
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let clock = call.clock();
    let job = Job::new(admit(call)?, clock);
    let task = Task::new(operation, &job);
    // Made first: if the runtime polls the task and then refuses it, dropping the handle also drops
    // the waker that keeps the task.
    let handle = JoinHandle::new(Arc::clone(&job));
    job.launch(|| runtime.spawn(task))?;
    Ok(handle)
}

/// Runs a closure on `runtime` in the slot of `call`, as [`Bulkhead::submit_blocking_with`] says.
pub(crate) fn submit_blocking<R, T, C>(
    call: Acquire<Arc<Shared>, R>,
    runtime: &R,
    operation: C,
) -> Result<JoinHandle<T>, SubmitError>
where
    R: Runtime<Sleep: Send> + Spawn + SpawnBlocking,
    C: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let clock = call.clock();
    let stage = admit(call)?;
    let waits = matches!(stage, Stage::Queued(_));
    let job = Job::new(stage, clock);
    let task = Task::new(operation, &job);
    if waits {
        task.launch_queued(runtime)?;
    } else {
        task.launch(runtime)?;
    }
    Ok(JoinHandle::new(job))
}

/// Asks for admission. A queued operation has no waker and no timer until its task polls it.
fn admit<R: Runtime<Sleep: Send>, T>(call: Acquire<Arc<Shared>, R>) -> Result<Stage<T>, SubmitError> {
    Ok(match call.ask()? {
        Asked::Granted(claim) => Stage::Granted(claim),
        Asked::Queued(call) => Stage::Queued(Box::pin(call)),
    })
}
