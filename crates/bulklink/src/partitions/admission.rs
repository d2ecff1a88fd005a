//! All ways of being admitted into a partition. Each enters it, and leaves the rest to its bulkhead.

use alloc::sync::Arc;
use core::future::Future;
use core::hash::BuildHasher;
use core::ops::Deref;

use bulklink_core::Request as CoreRequest;

use super::acquire::PartitionAcquire;
use super::lease::{BorrowedOwner, LeaseOwner, Leased, SharedOwner};
use super::{Lookup, OwnedSlot, OwnedSlotFuture, Slot, SlotFuture};
use crate::acquire::execute::{Execute, ExecuteFallible};
use crate::acquire::future::Acquire;
use crate::acquire::slot::HeldGrant;
use crate::{ExecuteError, Partitions, Rejection, Request, Runtime};

impl<K, R, S> Partitions<K, R, S>
where
    K: Send + 'static,
    R: Runtime,
    S: BuildHasher + Send + Sync + 'static,
{
    /// Enters the partition of `key`, and waits for a slot there, if need be, and as long as the bulkhead lets it.
    ///
    /// # Errors
    ///
    /// If there is no partition and can be none, as many are kept as may be and all are in use; if there is no room to wait, if the
    /// wait limit passes, or if all is or gets closed.
    ///
    /// # Fairness
    ///
    /// First come, first served in each partition, counted from the first poll.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the partition and loses the place in the queue, and never a slot.
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
    /// # let builder = Partitions::builder_on(executor.clock(), "tenants");
    /// # let tenants: Partitions<String, _> = builder.parallelism(2).waiting_room(1).max_partitions(10).build()?;
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
    pub fn slot<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> SlotFuture<'_, R> {
        self.slot_with(key, Request::new())
    }

    /// As [`slot`](Partitions::slot), with a cost, a limit or a deadline of its own.
    ///
    /// # Errors
    ///
    /// As [`slot`](Partitions::slot); besides, if the deadline is past, or if the cost is zero or more than the whole capacity of a
    /// partition.
    #[doc(alias("acquire_many", "slot_within", "slot_before"))]
    #[inline]
    pub fn slot_with<Q: Lookup<K> + ?Sized>(&self, key: &Q, request: Request<R::Instant>) -> SlotFuture<'_, R> {
        SlotFuture::new(self.wait(self.borrowed(), key, request))
    }

    /// Takes a slot in the partition of `key` if there is one and nobody waits for it.
    ///
    /// # Errors
    ///
    /// If there is no partition and can be none, if there is no room right now, or if all is closed.
    #[doc(alias("try_acquire", "slot_now"))]
    #[inline]
    pub fn try_slot<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> Result<Slot<'_>, Rejection> {
        self.try_hold(self.borrowed(), key, const { &CoreRequest::new() }).map(Slot::new)
    }

    /// As [`try_slot`](Partitions::try_slot), with a cost of its own.
    ///
    /// # Errors
    ///
    /// As [`try_slot`](Partitions::try_slot); besides, if the deadline is past, or if the cost is zero or more than the whole capacity
    /// of a partition.
    #[doc(alias = "try_acquire_many")]
    #[inline]
    pub fn try_slot_with<Q>(&self, key: &Q, request: Request<R::Instant>) -> Result<Slot<'_>, Rejection>
    where
        Q: Lookup<K> + ?Sized,
    {
        self.try_hold(self.borrowed(), key, &request.on(&self.inner.plan.runtime)).map(Slot::new)
    }

    /// As [`slot`](Partitions::slot), for a slot that borrows nothing. Neither does the future: it has entered, and needs the key no
    /// more.
    ///
    /// # Errors
    ///
    /// As [`slot`](Partitions::slot).
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink::testing::{Executor, FakeClock};
    /// # use bulklink::Partitions;
    /// # let mut executor = Executor::new(FakeClock::new());
    /// # let builder = Partitions::builder_on(executor.clock(), "tenants");
    /// # let tenants: Partitions<String, _> = builder.parallelism(2).waiting_room(1).max_partitions(10).build()?;
    /// # let slot =
    /// executor.spawn(tenants.slot_owned("ann"));
    /// # executor.run_until_idle();
    /// # slot.output().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "acquire_owned")]
    #[inline]
    pub fn slot_owned<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> OwnedSlotFuture<R> {
        self.slot_owned_with(key, Request::new())
    }

    /// As [`slot_with`](Partitions::slot_with), for a slot that borrows nothing.
    ///
    /// # Errors
    ///
    /// As [`slot_with`](Partitions::slot_with).
    #[doc(alias = "acquire_many_owned")]
    #[inline]
    pub fn slot_owned_with<Q>(&self, key: &Q, request: Request<R::Instant>) -> OwnedSlotFuture<R>
    where
        Q: Lookup<K> + ?Sized,
    {
        OwnedSlotFuture::new(self.wait(self.owned(), key, request))
    }

    /// As [`try_slot`](Partitions::try_slot), for a slot that borrows nothing.
    ///
    /// # Errors
    ///
    /// As [`try_slot`](Partitions::try_slot).
    #[doc(alias = "try_acquire_owned")]
    #[inline]
    pub fn try_slot_owned<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> Result<OwnedSlot, Rejection> {
        self.try_hold(self.owned(), key, const { &CoreRequest::new() }).map(OwnedSlot::new)
    }

    /// As [`try_slot_with`](Partitions::try_slot_with), for a slot that borrows nothing.
    ///
    /// # Errors
    ///
    /// As [`try_slot_with`](Partitions::try_slot_with).
    #[doc(alias = "try_acquire_many_owned")]
    #[inline]
    pub fn try_slot_owned_with<Q>(&self, key: &Q, request: Request<R::Instant>) -> Result<OwnedSlot, Rejection>
    where
        Q: Lookup<K> + ?Sized,
    {
        self.try_hold(self.owned(), key, &request.on(&self.inner.plan.runtime)).map(OwnedSlot::new)
    }

    /// Runs `operation` in a slot of the partition of `key`, waiting for that if need be. The slot is given back when the operation
    /// ends, however it ends: by its value, by a panic, or by being dropped half-way.
    ///
    /// # Errors
    ///
    /// As [`slot`](Partitions::slot). The operation has then not begun.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the operation, then gives its slot or its place in the queue back, then leaves the partition.
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
    /// # let builder = Partitions::builder_on(executor.clock(), "tenants");
    /// # let tenants: Partitions<String, _> = builder.parallelism(2).waiting_room(1).max_partitions(10).build()?;
    /// # executor.block_on(async move {
    /// let receipt = tenants.execute("ann", async { "paid" }).await?;
    /// assert_eq!(receipt, "paid");
    /// # Ok::<(), bulklink::Rejection>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn execute<'a, Q, F>(
        &'a self,
        key: &Q,
        operation: F,
    ) -> impl Future<Output = Result<F::Output, Rejection>> + use<'a, Q, F, K, R, S>
    where
        Q: Lookup<K> + ?Sized,
        F: Future,
    {
        self.execute_with(key, Request::new(), operation)
    }

    /// As [`execute`](Partitions::execute), with a cost, a limit or a deadline of its own.
    ///
    /// # Errors
    ///
    /// As [`slot_with`](Partitions::slot_with). The operation has then not begun.
    #[doc(alias("execute_within", "execute_before"))]
    #[inline]
    pub fn execute_with<'a, Q, F>(
        &'a self,
        key: &Q,
        request: Request<R::Instant>,
        operation: F,
    ) -> impl Future<Output = Result<F::Output, Rejection>> + use<'a, Q, F, K, R, S>
    where
        Q: Lookup<K> + ?Sized,
        F: Future,
    {
        Execute::new(self.wait(self.borrowed(), key, request), operation)
    }

    /// Runs `operation` in a slot of the partition of `key` if there is one and nobody waits for it.
    ///
    /// # Errors
    ///
    /// If there is no partition and can be none, if there is no room when the future is first polled, or if all is closed. The
    /// operation has then not begun.
    #[doc(alias = "execute_now")]
    #[inline]
    pub fn try_execute<'a, Q, F>(
        &'a self,
        key: &Q,
        operation: F,
    ) -> impl Future<Output = Result<F::Output, Rejection>> + use<'a, Q, F, K, R, S>
    where
        Q: Lookup<K> + ?Sized,
        F: Future,
    {
        self.execute_with(key, Request::new().now(), operation)
    }

    /// As [`execute`](Partitions::execute), for an operation that can fail itself: both failures come in one error.
    ///
    /// # Errors
    ///
    /// [`ExecuteError::Rejected`] as [`execute`](Partitions::execute), and [`ExecuteError::Operation`] with the operation's own error.
    pub fn execute_fallible<'a, Q, T, E, F>(
        &'a self,
        key: &Q,
        operation: F,
    ) -> impl Future<Output = Result<T, ExecuteError<E>>> + use<'a, Q, T, E, F, K, R, S>
    where
        Q: Lookup<K> + ?Sized,
        F: Future<Output = Result<T, E>>,
    {
        self.execute_fallible_with(key, Request::new(), operation)
    }

    /// As [`execute_fallible`](Partitions::execute_fallible), with a cost, a limit or a deadline of its own.
    ///
    /// # Errors
    ///
    /// As [`execute_fallible`](Partitions::execute_fallible).
    pub fn execute_fallible_with<'a, Q, T, E, F>(
        &'a self,
        key: &Q,
        request: Request<R::Instant>,
        operation: F,
    ) -> impl Future<Output = Result<T, ExecuteError<E>>> + use<'a, Q, T, E, F, K, R, S>
    where
        Q: Lookup<K> + ?Sized,
        F: Future<Output = Result<T, E>>,
    {
        ExecuteFallible::new(Execute::new(self.wait(self.borrowed(), key, request), operation))
    }

    fn borrowed(&self) -> BorrowedOwner<'_> {
        &*self.inner
    }

    fn owned(&self) -> SharedOwner {
        Arc::clone(&self.inner) as SharedOwner
    }

    #[inline]
    fn wait<Q, L>(&self, owner: L, key: &Q, request: Request<R::Instant>) -> PartitionAcquire<L, R>
    where
        Q: Lookup<K> + ?Sized,
        L: Deref<Target = dyn LeaseOwner>,
    {
        let runtime = &self.inner.plan.runtime;
        let request = request.on(runtime);
        match self.inner.enter(key, &request) {
            Ok((shared, lease)) => {
                let leased = Leased::new(shared, owner, lease);
                PartitionAcquire::Entered(Acquire::new(leased, runtime.clone(), request))
            }
            Err(rejection) => {
                PartitionAcquire::Rejected { owner, runtime: runtime.clone(), rejection: Some(rejection) }
            }
        }
    }

    #[inline]
    fn try_hold<Q, L>(&self, owner: L, key: &Q, request: &CoreRequest) -> Result<HeldGrant<Leased<L>>, Rejection>
    where
        Q: Lookup<K> + ?Sized,
        L: Deref<Target = dyn LeaseOwner>,
    {
        match self.inner.enter(key, request) {
            Ok((shared, lease)) => {
                let leased = Leased::new(shared, owner, lease);
                let grant = leased.try_enter(request, |grant| grant)?;
                Ok(HeldGrant::new(leased, grant))
            }
            Err(rejection) => {
                owner.count(&rejection);
                Err(rejection)
            }
        }
    }
}
