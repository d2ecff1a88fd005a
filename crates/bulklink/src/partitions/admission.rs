//! The methods that admit a call into a partition. Each leases the partition, and leaves the rest
//! to its bulkhead.

use core::future::Future;
use core::hash::BuildHasher;

use bulklink_core::Request as CoreRequest;

use super::{Lookup, Wrapped};
use crate::acquire::claim::Claim;
use crate::{
    Clock, ExecuteFallibleOwned, ExecuteOwned, OwnedSlot, OwnedSlotFuture, Partitions, Rejection, Request, Runtime,
};

/// Calls that never wait. They need the clock of the runtime only.
impl<K, R, S> Partitions<K, R, S>
where
    R: Clock + Clone + Send + Sync + 'static,
    S: BuildHasher,
{
    /// Acquires a slot in the partition of `key` if one is free and no call waits for it.
    ///
    /// # Errors
    ///
    /// If the key has no partition and none can be created, if no slot is free now, or if the
    /// partition is closed.
    #[doc(alias("try_acquire", "slot_now"))]
    #[inline]
    pub fn try_slot<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> Result<OwnedSlot, Rejection> {
        self.try_acquire(key, const { &CoreRequest::new() })
    }

    /// Acquires a slot as [`try_slot`](Partitions::try_slot) does, with the cost of `request`.
    ///
    /// # Errors
    ///
    /// As [`try_slot`](Partitions::try_slot); also if the deadline has passed, or if the cost is
    /// zero or more than the whole capacity of a partition.
    #[doc(alias = "try_acquire_many")]
    #[inline]
    pub fn try_slot_with<Q>(&self, key: &Q, request: Request<R::Instant>) -> Result<OwnedSlot, Rejection>
    where
        Q: Lookup<K> + ?Sized,
    {
        self.try_acquire(key, &request.on(&self.inner.each.runtime))
    }

    #[inline]
    fn try_acquire<Q: Lookup<K> + ?Sized>(&self, key: &Q, request: &CoreRequest) -> Result<OwnedSlot, Rejection> {
        // Here a rejection is returned immediately. A future counts it when it is polled.
        let shared = self.inner.enter(key, request).inspect_err(Rejection::count)?;
        let mut claim = Claim::new(shared, None);
        claim.try_enter(request)?;
        Ok(OwnedSlot::new(claim))
    }
}

impl<K, R, S> Partitions<K, R, S>
where
    K: Send + 'static,
    R: Runtime,
    S: BuildHasher + Send + Sync + 'static,
{
    /// Acquires a slot in the partition of `key`, waiting in FIFO order until one is free or the
    /// wait limit passes.
    ///
    /// # Errors
    ///
    /// If the key has no partition, `max_partitions` exist already, and none of them is idle; if
    /// the waiting room is full; if the wait limit passes; or if the partition is closed, before
    /// the call or while it waits.
    ///
    /// # Fairness
    ///
    /// First come, first served in each partition, in the order of the first polls.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives up its place in the queue and leaves the partition. No slot is
    /// lost.
    ///
    /// # Panics
    ///
    /// As [`Bulkhead::slot`](crate::Bulkhead::slot).
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink::testing::{Executor, FakeClock};
    /// # use bulklink::Partitions;
    /// # let mut executor = Executor::new(FakeClock::new());
    /// # let builder = Partitions::builder_on(executor.clock(), "tenants").waiting_room(1);
    /// # let tenants: Partitions<String, _> = builder.parallelism(2).max_partitions(10).build()?;
    /// # executor.block_on(async move {
    /// let slot = tenants.slot("ann").await?;
    /// // … use what the slot protects …
    /// drop(slot);
    /// # Ok::<(), bulklink::Rejection>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "acquire")]
    #[inline]
    pub fn slot<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> OwnedSlotFuture<R> {
        self.slot_with(key, Request::new())
    }

    /// Acquires a slot as [`slot`](Partitions::slot) does, with the cost, limit and deadline of
    /// `request`.
    ///
    /// # Errors
    ///
    /// As [`slot`](Partitions::slot); also if the deadline has passed, or if the cost is zero or
    /// more than the whole capacity of a partition.
    #[doc(alias("acquire_many", "slot_within", "slot_before"))]
    #[inline]
    pub fn slot_with<Q: Lookup<K> + ?Sized>(&self, key: &Q, request: Request<R::Instant>) -> OwnedSlotFuture<R> {
        // Before the partition is entered, because the runtime is foreign and may panic.
        let runtime = self.inner.each.runtime.clone();
        let request = request.on(&runtime);
        match self.inner.enter(key, &request) {
            Ok(shared) => OwnedSlotFuture::new(shared, runtime, request),
            Err(rejection) => OwnedSlotFuture::refused(runtime, rejection),
        }
    }

    /// Acquires a slot in the partition of `key` as [`slot`](Partitions::slot) does, and runs
    /// `operation` in it.
    ///
    /// The slot is given back when the operation ends: when it returns, panics or is dropped.
    ///
    /// # Errors
    ///
    /// As [`slot`](Partitions::slot). The operation has not begun then.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the operation, then gives back its slot or its place in the queue,
    /// then leaves the partition.
    ///
    /// # Panics
    ///
    /// As [`slot`](Partitions::slot), and if polled again after it has completed.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink::testing::{Executor, FakeClock};
    /// # use bulklink::Partitions;
    /// # let mut executor = Executor::new(FakeClock::new());
    /// # let builder = Partitions::builder_on(executor.clock(), "tenants").waiting_room(1);
    /// # let tenants: Partitions<String, _> = builder.parallelism(2).max_partitions(10).build()?;
    /// # executor.block_on(async move {
    /// let receipt = tenants.execute("ann", async { "paid" }).await?;
    /// assert_eq!(receipt, "paid");
    /// # Ok::<(), bulklink::Rejection>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn execute<Q, F>(&self, key: &Q, operation: F) -> ExecuteOwned<F, R>
    where
        Q: Lookup<K> + ?Sized,
        F: Future,
    {
        self.execute_with(key, Request::new(), operation)
    }

    /// Runs `operation` as [`execute`](Partitions::execute) does, with the cost, limit and deadline
    /// of `request`.
    ///
    /// # Errors
    ///
    /// As [`slot_with`](Partitions::slot_with). The operation has not begun then.
    #[doc(alias("execute_within", "execute_before"))]
    #[inline]
    pub fn execute_with<Q, F>(&self, key: &Q, request: Request<R::Instant>, operation: F) -> ExecuteOwned<F, R>
    where
        Q: Lookup<K> + ?Sized,
        F: Future,
    {
        ExecuteOwned::new(self.slot_with(key, request), operation)
    }

    /// Runs `operation` in a slot of the partition of `key` if one is free and no call waits for
    /// it.
    ///
    /// # Errors
    ///
    /// If the key has no partition and none can be created, if no slot is free when the future is
    /// first polled, or if the partition is closed. The operation has not begun then.
    #[doc(alias = "execute_now")]
    #[inline]
    pub fn try_execute<Q, F>(&self, key: &Q, operation: F) -> ExecuteOwned<F, R>
    where
        Q: Lookup<K> + ?Sized,
        F: Future,
    {
        self.execute_with(key, Request::new().now(), operation)
    }

    /// Runs a fallible `operation` as [`execute`](Partitions::execute) does, and returns its error
    /// or the rejection as one [`ExecuteError`](crate::ExecuteError).
    ///
    /// # Errors
    ///
    /// [`Rejected`](crate::ExecuteError::Rejected) as [`execute`](Partitions::execute), and
    /// [`Operation`](crate::ExecuteError::Operation) with the error of the operation.
    pub fn execute_fallible<Q, T, E, F>(&self, key: &Q, operation: F) -> ExecuteFallibleOwned<F, R>
    where
        Q: Lookup<K> + ?Sized,
        F: Future<Output = Result<T, E>>,
    {
        self.execute_fallible_with(key, Request::new(), operation)
    }

    /// Runs `operation` as [`execute_fallible`](Partitions::execute_fallible) does, with the cost,
    /// limit and deadline of `request`.
    ///
    /// # Errors
    ///
    /// As [`execute_fallible`](Partitions::execute_fallible).
    pub fn execute_fallible_with<Q, T, E, F>(
        &self,
        key: &Q,
        request: Request<R::Instant>,
        operation: F,
    ) -> ExecuteFallibleOwned<F, R>
    where
        Q: Lookup<K> + ?Sized,
        F: Future<Output = Result<T, E>>,
    {
        ExecuteFallibleOwned::new(self.slot_with(key, request), operation)
    }

    /// Wraps an async function, so that each call of it runs in a slot of the partition that `key`
    /// finds in its argument. For several arguments, pass a tuple. A key that does not lie in the
    /// argument needs [`execute`](Partitions::execute).
    ///
    /// ```
    /// # use bulklink::testing::{Executor, FakeClock};
    /// # use bulklink::Partitions;
    /// # let mut executor = Executor::new(FakeClock::new());
    /// struct Payment {
    ///     tenant: String,
    ///     amount: u32,
    /// }
    ///
    /// async fn send(payment: Payment) -> String {
    ///     format!("sent {}", payment.amount)
    /// }
    ///
    /// # let builder = Partitions::builder_on(executor.clock(), "tenants");
    /// # let tenants: Partitions<String, _> = builder.parallelism(2).max_partitions(10).build()?;
    /// let send = tenants.wrap(|payment: &Payment| &payment.tenant, send);
    /// # executor.block_on(async move {
    /// let payment = Payment { tenant: "ann".to_string(), amount: 5 };
    /// assert_eq!(send.call(payment).await?, "sent 5");
    /// # Ok::<(), bulklink::Rejection>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "decorator")]
    pub fn wrap<A, Q, G, F, O>(&self, key: G, function: F) -> Wrapped<K, R, S, G, F>
    where
        Q: Lookup<K> + ?Sized,
        G: Fn(&A) -> &Q,
        F: Fn(A) -> O,
        O: Future,
    {
        Wrapped::new(self.clone(), key, function)
    }
}
