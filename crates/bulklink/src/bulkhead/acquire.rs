//! The methods that bind a request, and those that acquire a slot.

use alloc::sync::Arc;
use core::time::Duration;

use bulklink_core::Request as CoreRequest;

use crate::acquire::claim::Claim;
use crate::{BoundRequest, Bulkhead, Clock, Rejection, Request, Runtime, Slot, SlotFuture};

/// # Bind a request
impl<R: Clock + Clone> Bulkhead<R> {
    /// Binds a request to this bulkhead: its cost, limit and deadline are those of the call that is
    /// then made.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink_tokio::{Bulkhead, Request};
    /// # use std::time::Duration;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let payments = Bulkhead::builder("payments").capacity(2).waiting_room(1).build()?;
    /// let large = Request::new().cost(2).within(Duration::from_millis(250));
    /// let slot = payments.with(large).slot().await?;
    /// assert_eq!(slot.cost(), 2);
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub fn with(&self, request: Request<R::Instant>) -> BoundRequest<R> {
        BoundRequest::new(Arc::clone(&self.handle.shared), self.runtime.clone(), request)
    }

    /// Binds a request that waits at most `limit`, and never longer than the bulkhead's own limit,
    /// as [`Request::within`].
    ///
    /// ```
    /// # use bulklink_tokio::Bulkhead;
    /// # use std::time::Duration;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let payments = Bulkhead::builder("payments").capacity(2).waiting_room(1).build()?;
    /// let hurried = payments.within(Duration::from_millis(250));
    /// assert_eq!(hurried.execute(async { "paid" }).await?, "paid");
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub fn within(&self, limit: Duration) -> BoundRequest<R> {
        self.with(Request::new().within(limit))
    }

    /// Binds the request that the short forms make, for a slot or a future that borrows nothing: it
    /// can move to another task.
    ///
    /// ```
    /// # use bulklink_tokio::Bulkhead;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let payments = Bulkhead::builder("payments").capacity(2).waiting_room(1).build()?;
    /// let slot = payments.owned().slot().await?;
    /// tokio::spawn(async move { drop(slot) });
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias("slot_owned", "try_slot_owned", "execute_owned", "acquire_owned"))]
    #[inline]
    pub fn owned(&self) -> BoundRequest<R> {
        self.with(Request::new())
    }
}

/// # Acquire a slot
impl<R: Runtime> Bulkhead<R> {
    /// Acquires a slot, and waits in FIFO order until one is free or the wait limit passes.
    ///
    /// # Errors
    ///
    /// If there is no room to wait, if the wait limit passes, or if the bulkhead is closed before
    /// the call has a slot; or if the future was not polled for too long after it was handed one
    /// ([`collect_limit`](crate::Builder::collect_limit)).
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
    /// If the call has a limit or a deadline, and its runtime has no timer; the adapter documents
    /// when that is so. The first poll panics then, unless it finds a free slot without asking the
    /// gate. Nothing is lost.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink_tokio::Bulkhead;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let payments = Bulkhead::builder("payments").capacity(2).waiting_room(1).build()?;
    /// let slot = payments.slot().await?;
    /// // … use the protected resource …
    /// drop(slot);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "acquire")]
    #[inline]
    pub fn slot(&self) -> SlotFuture<'_, R> {
        SlotFuture::new(&self.handle.shared, self.runtime.clone(), CoreRequest::new())
    }

    /// The same, for an operation that can be cancelled.
    #[inline]
    pub(super) fn operation_slot(&self) -> SlotFuture<'_, R> {
        SlotFuture::new(&self.handle.shared, self.runtime.clone(), CoreRequest::new().ignored())
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
    /// # use bulklink_tokio::{Bulkhead, Reason};
    /// # let payments = Bulkhead::builder("payments").capacity(2).waiting_room(1).build()?;
    /// let both = [payments.try_slot()?, payments.try_slot()?];
    /// assert_eq!(payments.try_slot().unwrap_err().reason(), Reason::Saturated);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias("try_acquire", "slot_now"))]
    #[inline]
    pub fn try_slot(&self) -> Result<Slot<'_>, Rejection> {
        let shared = &*self.handle.shared;
        let request = const { &CoreRequest::new() };
        shared.try_enter(request, |grant| Slot::new(Claim::new(shared, Some(grant))))
    }
}
