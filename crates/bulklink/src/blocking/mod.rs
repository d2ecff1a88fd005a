//! The calls that block their thread until they are admitted.

pub(crate) mod thread;

use alloc::sync::Arc;
use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::task::Poll;
use core::time::Duration;

use bulklink_core::Request as CoreRequest;

use self::thread::Thread;
use crate::acquire::claim::{Claim, SharedRef};
use crate::acquire::future::Acquire;
use crate::{BoundRequest, Bulkhead, Clock, Closed, ExecuteError, OwnedSlot, Rejection, Slot, Timer};

/// # Block the thread
///
/// Calls that block their thread, with the feature `std`. See [Threads](crate#threads) for where
/// they may be used.
impl<R: Clock + Clone + Send + Sync + 'static> Bulkhead<R> {
    /// Acquires a slot, and blocks the thread until one is free or the wait limit passes.
    ///
    /// # Errors
    ///
    /// If there is no room to wait, if the wait limit passes, or if the bulkhead is closed before
    /// the call has a slot.
    ///
    /// # Fairness
    ///
    /// First come, first served, in one queue with the tasks that wait at the same bulkhead.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink::{Bulkhead, StdClock};
    /// let builder = Bulkhead::builder_on(StdClock, "payments");
    /// let payments = builder.parallelism(1).waiting_room(1).build()?;
    /// let slot = payments.blocking_slot()?;
    /// // … use the protected resource …
    /// drop(slot);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias("acquire", "acquire_blocking", "blocking_acquire"))]
    #[inline]
    pub fn blocking_slot(&self) -> Result<Slot<'_>, Rejection> {
        block_for_claim(&*self.handle().shared, CoreRequest::new(), || self.runtime().clone()).map(Slot::new)
    }

    /// Runs `operation` on this thread in a slot, and blocks the thread until the call has one.
    ///
    /// The slot is released when the operation ends, also if it panics.
    ///
    /// # Errors
    ///
    /// As [`blocking_slot`](Bulkhead::blocking_slot). The operation has then not begun.
    ///
    /// # Panics
    ///
    /// If the operation panics.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink::{Bulkhead, StdClock};
    /// let builder = Bulkhead::builder_on(StdClock, "payments");
    /// let payments = builder.parallelism(10).waiting_room(50).build()?;
    /// let worker = std::thread::spawn({
    ///     let payments = payments.clone();
    ///     move || payments.blocking_execute(|| "paid")
    /// });
    /// assert_eq!(worker.join().unwrap()?, "paid");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn blocking_execute<T>(&self, operation: impl FnOnce() -> T) -> Result<T, Rejection> {
        let _slot = self.blocking_slot()?;
        Ok(operation())
    }
}

/// # Block the thread
///
/// Calls that block their thread, with the feature `std`. See [Threads](crate#threads) for where
/// they may be used.
impl<R: Clock + Send + Sync + 'static> BoundRequest<R> {
    /// Acquires a slot, and blocks the thread until one is free or a limit passes.
    ///
    /// # Errors
    ///
    /// As [`Bulkhead::blocking_slot`]; also if the deadline is past, if the cost is zero or more
    /// than the whole capacity, or if the key got no partition.
    ///
    /// # Fairness
    ///
    /// First come, first served, in one queue with the tasks that wait.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink::{Bulkhead, Reason, Request, StdClock};
    /// # use std::time::{Duration, Instant};
    /// let builder = Bulkhead::builder_on(StdClock, "payments");
    /// let payments = builder.capacity(2).waiting_room(1).build()?;
    /// let deadline = Instant::now() + Duration::from_secs(1);
    /// let both = payments.with(Request::new().cost(2).before(deadline)).blocking_slot()?;
    /// let late = payments.within(Duration::from_millis(1)).blocking_slot();
    /// assert_eq!(late.unwrap_err().reason(), Reason::Expired);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias("acquire", "acquire_many", "acquire_blocking", "blocking_acquire", "blocking_slot_with"))]
    #[inline]
    pub fn blocking_slot(self) -> Result<OwnedSlot, Rejection> {
        let (entered, clock, request) = self.resolve();
        block_for_claim(entered.inspect_err(Rejection::count)?, request, || clock).map(OwnedSlot::new)
    }

    /// As [`blocking_slot`](BoundRequest::blocking_slot), but gives up its place in the queue when
    /// `interruption` completes, and returns its output.
    ///
    /// A free slot is taken without polling `interruption`. If both are ready, the call has the
    /// slot.
    ///
    /// # Errors
    ///
    /// As [`blocking_slot`](BoundRequest::blocking_slot).
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink::{Bulkhead, StdClock};
    /// let builder = Bulkhead::builder_on(StdClock, "payments");
    /// let payments = builder.parallelism(1).waiting_room(1).build()?;
    /// let _running = payments.blocking_slot()?;
    /// let slot = payments.owned().blocking_slot_unless(async { "shutdown" })?;
    /// assert_eq!(slot.unwrap_err(), "shutdown");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn blocking_slot_unless<T>(
        self,
        interruption: impl Future<Output = T>,
    ) -> Result<Result<OwnedSlot, T>, Rejection> {
        let (entered, clock, request) = self.resolve();
        let shared = entered.inspect_err(Rejection::count)?;
        let granted = if request.is_simple() { shared.fast.acquire() } else { None };
        if granted.is_some() {
            return Ok(Ok(OwnedSlot::new(Claim::new(shared, granted))));
        }
        let thread = Thread::on(clock);
        let mut acquire = Acquire::new(shared, Arc::clone(&thread), request);
        let mut interruption = pin!(interruption);
        thread.block_on(poll_fn(|context| {
            if let Poll::Ready(claim) = Pin::new(&mut acquire).poll(context) {
                return Poll::Ready(claim.map(|claim| Ok(OwnedSlot::new(claim))));
            }
            interruption.as_mut().poll(context).map(|output| Ok(Err(output)))
        }))
    }

    /// Runs `operation` on this thread in a slot, and blocks the thread until the call has one.
    ///
    /// The slot is released when the operation ends, also if it panics.
    ///
    /// # Errors
    ///
    /// As [`blocking_slot`](BoundRequest::blocking_slot). The operation has then not begun.
    ///
    /// # Panics
    ///
    /// If the operation panics.
    #[doc(alias("blocking_execute_with", "execute_within", "execute_before"))]
    #[inline]
    pub fn blocking_execute<T>(self, operation: impl FnOnce() -> T) -> Result<T, Rejection> {
        let _slot = self.blocking_slot()?;
        Ok(operation())
    }

    /// As [`blocking_execute`](BoundRequest::blocking_execute), for an operation that can fail: a
    /// rejection and the operation's own error come as one error type.
    ///
    /// # Errors
    ///
    /// [`ExecuteError::Rejected`] as [`blocking_execute`](BoundRequest::blocking_execute), and
    /// [`ExecuteError::Operation`] with the operation's own error.
    pub fn blocking_execute_fallible<T, E>(
        self,
        operation: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, ExecuteError<E>> {
        self.blocking_execute(operation)?.map_err(ExecuteError::Operation)
    }
}

/// # Block the thread
///
/// With the feature `std`. See [Threads](crate#threads) for where a thread may block.
impl Closed<'_> {
    /// Blocks the thread until this completes.
    ///
    /// A future that has been granted a slot, and is neither polled nor dropped, holds that slot.
    /// While such a future is kept, this does not return, unless the slot is [taken
    /// back](crate::Builder::collect_limit).
    #[doc(alias("blocking_closed", "blocking_close_and_wait"))]
    pub fn block(self) {
        Thread::on(self.clock()).block_on(self);
    }

    /// Blocks the thread as [`block`](Closed::block) does, but for at most `limit`. Returns whether
    /// this has completed.
    ///
    /// ```
    /// # use bulklink::{Bulkhead, StdClock};
    /// # use std::time::Duration;
    /// let payments = Bulkhead::builder_on(StdClock, "payments").parallelism(1).build()?;
    /// let running = payments.try_slot()?;
    /// assert!(!payments.close_and_wait().block_for(Duration::from_millis(5)));
    /// drop(running);
    /// assert!(payments.handle().closed().block_for(Duration::from_millis(5)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn block_for(self, limit: Duration) -> bool {
        let clock = self.clock();
        let deadline = clock.now().saturating_add(limit);
        let thread = Thread::on(clock);
        let (mut closed, mut sleep) = (pin!(self), pin!(thread.sleep_until(deadline)));
        Arc::clone(&thread).block_on(poll_fn(|context| {
            if closed.as_mut().poll(context).is_ready() {
                return Poll::Ready(true);
            }
            let is_late = thread.now() >= deadline || sleep.as_mut().poll(context).is_ready();
            if is_late { Poll::Ready(false) } else { Poll::Pending }
        }))
    }
}

/// Blocks the thread until the call has a slot. The clock is cloned only if the word does not admit
/// the call.
#[inline]
pub(crate) fn block_for_claim<C, S>(
    shared: S,
    request: CoreRequest,
    clock: impl FnOnce() -> C,
) -> Result<Claim<S>, Rejection>
where
    C: Clock + Send + Sync + 'static,
    S: SharedRef,
{
    let granted = if request.is_simple() { shared.fast.acquire() } else { None };
    match granted {
        Some(_) => Ok(Claim::new(shared, granted)),
        None => block_in_queue(shared, request, clock()),
    }
}

#[cold]
fn block_in_queue<C, S>(shared: S, request: CoreRequest, clock: C) -> Result<Claim<S>, Rejection>
where
    C: Clock + Send + Sync + 'static,
    S: SharedRef,
{
    let thread = Thread::on(clock);
    let acquire = Acquire::new(shared, Arc::clone(&thread), request);
    thread.block_on(acquire)
}
