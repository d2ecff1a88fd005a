//! The methods that block their thread until a partition admits them.

use core::hash::BuildHasher;
use core::time::Duration;

use super::Lookup;
use crate::blocking::thread::Thread;
use crate::blocking::{block_for_claim, block_until_closed};
use crate::{Clock, ExecuteError, OwnedSlot, Partitions, Rejection, Request};

/// Calls that block their thread, with the feature `std`. [Threads](crate#threads) says where they
/// may be used. They need the clock of the runtime only.
impl<K, R, S> Partitions<K, R, S>
where
    R: Clock + Clone + Send + Sync + 'static,
    S: BuildHasher,
{
    /// Acquires a slot in the partition of `key`, and blocks the thread until one is free or the
    /// wait limit passes.
    ///
    /// # Errors
    ///
    /// If the key has no partition and none can be created; if the waiting room is full; if the
    /// wait limit passes; or if the partition is closed, before the call or while it waits.
    ///
    /// # Fairness
    ///
    /// First come, first served, in one queue with the tasks that wait at the same partition.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink::{Partitions, StdClock};
    /// let builder = Partitions::builder_on(StdClock, "keys").parallelism(1).waiting_room(1);
    /// let tenants: Partitions<String, _> = builder.max_partitions(10).build()?;
    /// let slot = tenants.blocking_slot("ann")?;
    /// // … use what the slot protects …
    /// drop(slot);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias("acquire", "acquire_blocking", "blocking_acquire"))]
    pub fn blocking_slot<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> Result<OwnedSlot, Rejection> {
        self.blocking_slot_with(key, Request::new())
    }

    /// Acquires a slot as [`blocking_slot`](Partitions::blocking_slot) does, with the cost, limit
    /// and deadline of `request`.
    ///
    /// # Errors
    ///
    /// As [`blocking_slot`](Partitions::blocking_slot); also if the deadline has passed, or if the
    /// cost is zero or more than the whole capacity of the partition.
    #[doc(alias("acquire_many", "slot_within", "slot_before"))]
    pub fn blocking_slot_with<Q>(&self, key: &Q, request: Request<R::Instant>) -> Result<OwnedSlot, Rejection>
    where
        Q: Lookup<K> + ?Sized,
    {
        // Before the partition is entered, because the clock is foreign and may panic.
        let clock = self.inner.each.runtime.clone();
        let request = request.on(&clock);
        let shared = self.inner.enter(key, &request).inspect_err(Rejection::count)?;
        block_for_claim(shared, request, || clock).map(OwnedSlot::new)
    }

    /// Runs `operation` on this thread in a slot of the partition of `key`, and blocks the thread
    /// until the call has one.
    ///
    /// The slot is given back when the operation ends, also if it panics.
    ///
    /// # Errors
    ///
    /// As [`blocking_slot`](Partitions::blocking_slot). The operation has not begun then.
    ///
    /// # Panics
    ///
    /// If the operation panics.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink::{Partitions, StdClock};
    /// let builder = Partitions::builder_on(StdClock, "keys").parallelism(1).waiting_room(1);
    /// let tenants: Partitions<String, _> = builder.max_partitions(10).build()?;
    /// assert_eq!(tenants.blocking_execute("ann", || "paid")?, "paid");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn blocking_execute<Q, T>(&self, key: &Q, operation: impl FnOnce() -> T) -> Result<T, Rejection>
    where
        Q: Lookup<K> + ?Sized,
    {
        self.blocking_execute_with(key, Request::new(), operation)
    }

    /// Runs `operation` as [`blocking_execute`](Partitions::blocking_execute) does, with the cost,
    /// limit and deadline of `request`.
    ///
    /// # Errors
    ///
    /// As [`blocking_slot_with`](Partitions::blocking_slot_with). The operation has not begun then.
    #[doc(alias("execute_within", "execute_before"))]
    pub fn blocking_execute_with<Q, T>(
        &self,
        key: &Q,
        request: Request<R::Instant>,
        operation: impl FnOnce() -> T,
    ) -> Result<T, Rejection>
    where
        Q: Lookup<K> + ?Sized,
    {
        let _slot = self.blocking_slot_with(key, request)?;
        Ok(operation())
    }

    /// Runs `operation` on this thread if a slot of the partition of `key` is free now and no call
    /// waits for it.
    ///
    /// # Errors
    ///
    /// As [`try_slot`](Partitions::try_slot). The operation has not begun then.
    #[doc(alias = "execute_now")]
    pub fn blocking_try_execute<Q, T>(&self, key: &Q, operation: impl FnOnce() -> T) -> Result<T, Rejection>
    where
        Q: Lookup<K> + ?Sized,
    {
        let _slot = self.try_slot(key)?;
        Ok(operation())
    }

    /// Runs a fallible `operation` as [`blocking_execute`](Partitions::blocking_execute) does, and
    /// returns its error or the rejection as one [`ExecuteError`].
    ///
    /// # Errors
    ///
    /// [`ExecuteError::Rejected`] as [`blocking_execute`](Partitions::blocking_execute), and
    /// [`ExecuteError::Operation`] with the error of the operation.
    pub fn blocking_execute_fallible<Q, T, E>(
        &self,
        key: &Q,
        operation: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, ExecuteError<E>>
    where
        Q: Lookup<K> + ?Sized,
    {
        self.blocking_execute_fallible_with(key, Request::new(), operation)
    }

    /// Runs `operation` as [`blocking_execute_fallible`](Partitions::blocking_execute_fallible)
    /// does, with the cost, limit and deadline of `request`.
    ///
    /// # Errors
    ///
    /// As [`blocking_execute_fallible`](Partitions::blocking_execute_fallible).
    pub fn blocking_execute_fallible_with<Q, T, E>(
        &self,
        key: &Q,
        request: Request<R::Instant>,
        operation: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, ExecuteError<E>>
    where
        Q: Lookup<K> + ?Sized,
    {
        self.blocking_execute_with(key, request, operation)?.map_err(ExecuteError::Operation)
    }
}

/// Waiting for the end of all partitions on a thread that may block, with the feature `std`.
impl<K, R, S> Partitions<K, R, S>
where
    R: Clock + Clone + Send + Sync + 'static,
{
    /// Blocks until the partitions are closed and every call has left its partition, as
    /// [`closed`](Partitions::closed). It closes nothing itself.
    #[doc(alias = "wait_closed")]
    pub fn blocking_closed(&self) {
        Thread::on(self.inner.each.runtime.clone()).block_on(self.closed());
    }

    /// Blocks as [`blocking_closed`](Partitions::blocking_closed) does, but for at most `limit`.
    /// Returns whether the partitions are closed and every call has left.
    pub fn blocking_closed_within(&self, limit: Duration) -> bool {
        block_until_closed(&self.inner.each.runtime, self.closed(), limit)
    }

    /// Closes all partitions immediately, and blocks until every call has left its partition and
    /// all partitions have been dropped with their keys, as
    /// [`close_and_wait`](Partitions::close_and_wait).
    pub fn blocking_close_and_wait(&self) {
        Thread::on(self.inner.each.runtime.clone()).block_on(self.close_and_wait());
    }
}
