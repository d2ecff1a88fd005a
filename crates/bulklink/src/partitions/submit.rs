//! The methods that run operations of a key in the background.

use alloc::sync::Arc;
use core::future::Future;
use core::hash::BuildHasher;

use super::Lookup;
use crate::acquire::future::Acquire;
use crate::gate::shared::Shared;
use crate::submit::{submit, submit_blocking};
use crate::{JoinHandle, Partitions, Rejection, Request, Runtime, Spawn, SpawnBlocking, SubmitError};

impl<K, R, S> Partitions<K, R, S>
where
    R: Runtime<Sleep: Send>,
    S: BuildHasher,
{
    /// Runs `operation` in a slot of the partition of `key` in the background, and returns a handle
    /// immediately, as [`Bulkhead::submit`](crate::Bulkhead::submit) does.
    ///
    /// The operation keeps its partition until it has ended. It does not keep the partitions: if
    /// their last clone is dropped, it continues.
    ///
    /// # Errors
    ///
    /// As [`Bulkhead::submit`](crate::Bulkhead::submit); also immediately, if the key has no
    /// partition and none can be created.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink::testing::{Executor, FakeClock};
    /// # use bulklink::Partitions;
    /// # let mut executor = Executor::new(FakeClock::new());
    /// let builder = Partitions::builder_on(executor.runtime(), "tenants");
    /// let tenants: Partitions<String, _> = builder.parallelism(1).max_partitions(10).build()?;
    /// let paid = tenants.submit("ann", async { "paid" })?;
    /// assert!(tenants.submit("ann", async { "paid too" }).is_err());
    /// # executor.block_on(async move {
    /// assert_eq!(paid.await?, "paid");
    /// # Ok::<(), bulklink::JoinError>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "spawn")]
    pub fn submit<Q, F>(&self, key: &Q, operation: F) -> Result<JoinHandle<F::Output>, SubmitError>
    where
        Q: Lookup<K> + ?Sized,
        R: Spawn,
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.submit_with(key, Request::new(), operation)
    }

    /// Runs `operation` as [`submit`](Partitions::submit) does, with the cost, limit and deadline
    /// of `request`. The limit counts from this call.
    ///
    /// # Errors
    ///
    /// As [`submit`](Partitions::submit); also immediately, if the deadline has passed, or if the
    /// cost is zero or more than the whole capacity of the partition.
    pub fn submit_with<Q, F>(
        &self,
        key: &Q,
        request: Request<R::Instant>,
        operation: F,
    ) -> Result<JoinHandle<F::Output>, SubmitError>
    where
        Q: Lookup<K> + ?Sized,
        R: Spawn,
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        submit(self.call(key, request)?, &self.inner.each.runtime, operation)
    }

    /// Runs `operation` in the background if a slot of the partition of `key` is free now and no
    /// call waits for it.
    ///
    /// # Errors
    ///
    /// Immediately, if the key has no partition and none can be created, if no slot is free, if the
    /// partition is closed, or if the runtime refuses the task.
    pub fn try_submit<Q, F>(&self, key: &Q, operation: F) -> Result<JoinHandle<F::Output>, SubmitError>
    where
        Q: Lookup<K> + ?Sized,
        R: Spawn,
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.submit_with(key, Request::new().now(), operation)
    }

    /// Runs a closure in a slot of the partition of `key`, on a thread of the runtime that may
    /// block, and returns a handle immediately, as
    /// [`Bulkhead::submit_blocking`](crate::Bulkhead::submit_blocking) does.
    ///
    /// # Errors
    ///
    /// As [`submit`](Partitions::submit).
    #[doc(alias = "spawn_blocking")]
    pub fn submit_blocking<Q, T, C>(&self, key: &Q, operation: C) -> Result<JoinHandle<T>, SubmitError>
    where
        Q: Lookup<K> + ?Sized,
        R: Spawn + SpawnBlocking,
        C: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.submit_blocking_with(key, Request::new(), operation)
    }

    /// Runs a closure as [`submit_blocking`](Partitions::submit_blocking) does, with the cost,
    /// limit and deadline of `request`. The limit counts from this call.
    ///
    /// # Errors
    ///
    /// As [`submit_with`](Partitions::submit_with).
    pub fn submit_blocking_with<Q, T, C>(
        &self,
        key: &Q,
        request: Request<R::Instant>,
        operation: C,
    ) -> Result<JoinHandle<T>, SubmitError>
    where
        Q: Lookup<K> + ?Sized,
        R: Spawn + SpawnBlocking,
        C: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        submit_blocking(self.call(key, request)?, &self.inner.each.runtime, operation)
    }

    /// Runs a closure on a thread that may block, if a slot of the partition of `key` is free now
    /// and no call waits for it.
    ///
    /// # Errors
    ///
    /// As [`try_submit`](Partitions::try_submit).
    pub fn try_submit_blocking<Q, T, C>(&self, key: &Q, operation: C) -> Result<JoinHandle<T>, SubmitError>
    where
        Q: Lookup<K> + ?Sized,
        R: Spawn + SpawnBlocking,
        C: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.submit_blocking_with(key, Request::new().now(), operation)
    }

    /// Makes a call that has leased its partition.
    fn call<Q: Lookup<K> + ?Sized>(
        &self,
        key: &Q,
        request: Request<R::Instant>,
    ) -> Result<Acquire<Arc<Shared>, R>, Rejection> {
        // Before the partition is entered, because the runtime is foreign and may panic.
        let runtime = self.inner.each.runtime.clone();
        let request = request.on(&runtime);
        let shared = self.inner.enter(key, &request).inspect_err(Rejection::count)?;
        Ok(Acquire::new(shared, runtime, request))
    }
}
