//! The methods that acquire a slot.

use alloc::sync::Arc;

use bulklink_core::Request as CoreRequest;

use crate::acquire::claim::Claim;
use crate::{Bulkhead, Clock, OwnedSlot, OwnedSlotFuture, Rejection, Request, Runtime, Slot, SlotFuture};

/// # Acquire a slot
impl<R: Runtime> Bulkhead<R> {
    /// Acquires a slot, and waits in FIFO order until one is free or the wait limit passes.
    ///
    /// # Errors
    ///
    /// If there is no room to wait, if the wait limit passes, or if the bulkhead is closed before
    /// the call has a slot; or if the future was not polled for too long after it was handed one
    /// ([`collect_within`](crate::Builder::collect_within)).
    ///
    /// # Fairness
    ///
    /// First come, first served, counted from the first poll.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives up its place in the queue. No slot is lost.
    ///
    /// # Panics
    ///
    /// If the call has a limit or a deadline, and its runtime has no timer; the adapter says when
    /// that is so. The first poll panics then, unless it finds a free slot without asking the gate.
    /// Nothing is lost.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink::testing::{Executor, FakeClock};
    /// # use bulklink::{Bulkhead, Reason, Request};
    /// # use std::time::Duration;
    /// # let mut executor = Executor::new(FakeClock::new());
    /// # let builder = Bulkhead::builder_on(executor.clock(), "payments");
    /// # let payments = builder.capacity(2).waiting_room(1).build()?;
    /// # executor.block_on(async move {
    /// let slot = payments.slot().await?;
    /// // … use what the slot protects …
    /// drop(slot);
    /// # Ok::<(), bulklink::Rejection>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "acquire")]
    #[inline]
    pub fn slot(&self) -> SlotFuture<'_, R> {
        self.slot_with(Request::new())
    }

    /// As [`slot`](Bulkhead::slot), with a cost, a limit or a deadline for this call.
    ///
    /// # Errors
    ///
    /// As [`slot`](Bulkhead::slot); also if the deadline is past, or if the cost is zero or more
    /// than the whole capacity.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink::testing::{Executor, FakeClock};
    /// # use bulklink::{Bulkhead, Reason, Request};
    /// # use std::time::Duration;
    /// # let mut executor = Executor::new(FakeClock::new());
    /// # let builder = Bulkhead::builder_on(executor.clock(), "payments");
    /// # let payments = builder.capacity(2).waiting_room(1).build()?;
    /// # executor.block_on(async move {
    /// let large = Request::new().cost(2).within(Duration::from_millis(250));
    /// let slot = payments.slot_with(large).await?;
    /// assert_eq!(slot.cost(), 2);
    /// # Ok::<(), bulklink::Rejection>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias("acquire_many", "slot_within", "slot_before"))]
    #[inline]
    pub fn slot_with(&self, request: Request<R::Instant>) -> SlotFuture<'_, R> {
        SlotFuture::new(&self.handle.shared, self.runtime.clone(), request.on(&self.runtime))
    }

    /// As [`slot`](Bulkhead::slot), for a slot that borrows nothing.
    ///
    /// # Errors
    ///
    /// As [`slot`](Bulkhead::slot).
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink::testing::{Executor, FakeClock};
    /// # use bulklink::{Bulkhead, Reason, Request};
    /// # use std::time::Duration;
    /// # let mut executor = Executor::new(FakeClock::new());
    /// # let builder = Bulkhead::builder_on(executor.clock(), "payments");
    /// # let payments = builder.capacity(2).waiting_room(1).build()?;
    /// # executor.block_on(async move {
    /// let slot = payments.slot_owned().await?;
    /// std::thread::spawn(move || drop(slot));
    /// # Ok::<(), bulklink::Rejection>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "acquire_owned")]
    #[inline]
    pub fn slot_owned(&self) -> OwnedSlotFuture<R> {
        self.slot_owned_with(Request::new())
    }

    /// As [`slot_with`](Bulkhead::slot_with), for a slot that borrows nothing.
    ///
    /// # Errors
    ///
    /// As [`slot_with`](Bulkhead::slot_with).
    #[doc(alias = "acquire_many_owned")]
    #[inline]
    pub fn slot_owned_with(&self, request: Request<R::Instant>) -> OwnedSlotFuture<R> {
        let (shared, request) = (Arc::clone(&self.handle.shared), request.on(&self.runtime));
        OwnedSlotFuture::new(shared, self.runtime.clone(), request)
    }
}

/// # Acquire a slot without waiting
impl<R: Clock> Bulkhead<R> {
    /// Takes a slot if one is free now and no call waits for it.
    ///
    /// # Errors
    ///
    /// If no slot is free, or if the bulkhead is closed.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink::testing::FakeClock;
    /// # use bulklink::{Bulkhead, Reason, Request};
    /// # use std::time::Duration;
    /// # let builder = Bulkhead::builder_on(FakeClock::new(), "payments");
    /// # let payments = builder.capacity(2).waiting_room(1).build()?;
    /// let both = [payments.try_slot()?, payments.try_slot()?];
    /// assert_eq!(payments.try_slot().unwrap_err().reason(), Reason::Saturated);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias("try_acquire", "slot_now"))]
    #[inline]
    pub fn try_slot(&self) -> Result<Slot<'_>, Rejection> {
        self.try_borrow(const { &CoreRequest::new() })
    }

    /// As [`try_slot`](Bulkhead::try_slot), with a cost or a deadline for this call.
    ///
    /// # Errors
    ///
    /// As [`try_slot`](Bulkhead::try_slot); also if the deadline is past, or if the cost is zero or
    /// more than the whole capacity.
    #[doc(alias = "try_acquire_many")]
    #[inline]
    pub fn try_slot_with(&self, request: Request<R::Instant>) -> Result<Slot<'_>, Rejection> {
        self.try_borrow(&request.on(&self.runtime))
    }

    /// As [`try_slot`](Bulkhead::try_slot), for a slot that borrows nothing.
    ///
    /// # Errors
    ///
    /// As [`try_slot`](Bulkhead::try_slot).
    #[doc(alias = "try_acquire_owned")]
    #[inline]
    pub fn try_slot_owned(&self) -> Result<OwnedSlot, Rejection> {
        self.try_own(const { &CoreRequest::new() })
    }

    /// As [`try_slot_with`](Bulkhead::try_slot_with), for a slot that borrows nothing.
    ///
    /// # Errors
    ///
    /// As [`try_slot_with`](Bulkhead::try_slot_with).
    #[doc(alias = "try_acquire_many_owned")]
    #[inline]
    pub fn try_slot_owned_with(&self, request: Request<R::Instant>) -> Result<OwnedSlot, Rejection> {
        self.try_own(&request.on(&self.runtime))
    }

    /// Takes a slot of one unit if the fast path has one, and does nothing else: a layer that gets
    /// it need not keep its request for later.
    ///
    /// If it returns `None`, nothing was rejected or counted, and a slot may still be free: another
    /// method finds out. The fast path has none while a call waits, and while a handler wants to
    /// see each admission.
    ///
    /// ```
    /// # use bulklink::testing::{Executor, FakeClock};
    /// # use bulklink::Bulkhead;
    /// # let mut executor = Executor::new(FakeClock::new());
    /// # let builder = Bulkhead::builder_on(executor.clock(), "payments");
    /// let payments = builder.parallelism(1).build()?;
    /// # executor.block_on(async move {
    /// let slot = match payments.take_free_owned() {
    ///     Some(slot) => slot,
    ///     None => payments.slot_owned().await?,
    /// };
    /// # drop(slot);
    /// # Ok::<(), bulklink::Rejection>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn take_free_owned(&self) -> Option<OwnedSlot> {
        let shared = &self.handle.shared;
        let granted = shared.fast.acquire()?;
        Some(OwnedSlot::new(Claim::new(Arc::clone(shared), Some(granted))))
    }

    /// As [`take_free_owned`](Bulkhead::take_free_owned), for a slot that borrows the bulkhead.
    #[inline]
    #[must_use]
    pub fn take_free(&self) -> Option<Slot<'_>> {
        let shared = &*self.handle.shared;
        let granted = shared.fast.acquire()?;
        Some(Slot::new(Claim::new(shared, Some(granted))))
    }

    #[inline]
    fn try_borrow(&self, request: &CoreRequest) -> Result<Slot<'_>, Rejection> {
        let shared = &*self.handle.shared;
        shared.try_enter(request, |grant| Slot::new(Claim::new(shared, Some(grant))))
    }

    #[inline]
    fn try_own(&self, request: &CoreRequest) -> Result<OwnedSlot, Rejection> {
        let shared = &self.handle.shared;
        shared.try_enter(request, |grant| OwnedSlot::new(Claim::new(Arc::clone(shared), Some(grant))))
    }
}
