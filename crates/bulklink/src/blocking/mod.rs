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
use crate::{Bulkhead, Clock, Closed, ExecuteError, OwnedSlot, Rejection, Request, Slot, Timer};

/// # Block the thread
///
/// Calls that block their thread, with the feature `std`. [Threads](crate#threads) says where they
/// may be used.
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
    /// // … use what the slot protects …
    /// drop(slot);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias("acquire", "acquire_blocking", "blocking_acquire"))]
    #[inline]
    pub fn blocking_slot(&self) -> Result<Slot<'_>, Rejection> {
        self.blocking_slot_with(Request::new())
    }

    /// As [`blocking_slot`](Bulkhead::blocking_slot), with a cost, a limit or a deadline for this
    /// call.
    ///
    /// # Errors
    ///
    /// As [`blocking_slot`](Bulkhead::blocking_slot); also if the deadline is past, or if the cost
    /// is zero or more than the whole capacity.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink::{Bulkhead, Reason, Request, StdClock};
    /// # use std::time::{Duration, Instant};
    /// let builder = Bulkhead::builder_on(StdClock, "payments");
    /// let payments = builder.capacity(2).waiting_room(1).build()?;
    /// let deadline = Instant::now() + Duration::from_secs(1);
    /// let both = payments.blocking_slot_with(Request::new().cost(2).before(deadline))?;
    /// let late = payments.blocking_slot_with(Request::new().within(Duration::from_millis(1)));
    /// assert_eq!(late.unwrap_err().reason(), Reason::Expired);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias("acquire_many", "slot_within", "slot_before"))]
    #[inline]
    pub fn blocking_slot_with(&self, request: Request<R::Instant>) -> Result<Slot<'_>, Rejection> {
        let request = request.on(self.runtime());
        block_for_claim(&*self.handle().shared, request, || self.runtime().clone()).map(Slot::new)
    }

    /// As [`blocking_slot_with`](Bulkhead::blocking_slot_with), but gives up its place in the queue
    /// when `interruption` completes, and returns its output.
    ///
    /// A free slot is taken without polling `interruption`. If both are ready, the call has the
    /// slot.
    ///
    /// # Errors
    ///
    /// As [`blocking_slot_with`](Bulkhead::blocking_slot_with).
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink::{Bulkhead, Request, StdClock};
    /// let builder = Bulkhead::builder_on(StdClock, "payments");
    /// let payments = builder.parallelism(1).waiting_room(1).build()?;
    /// let _running = payments.blocking_slot()?;
    /// let slot = payments.blocking_slot_unless(Request::new(), async { "shutdown" })?;
    /// assert_eq!(slot.unwrap_err(), "shutdown");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn blocking_slot_unless<T>(
        &self,
        request: Request<R::Instant>,
        interruption: impl Future<Output = T>,
    ) -> Result<Result<Slot<'_>, T>, Rejection> {
        let shared = &*self.handle().shared;
        let request = request.on(self.runtime());
        let granted = if request.is_simple() { shared.fast.acquire() } else { None };
        if granted.is_some() {
            return Ok(Ok(Slot::new(Claim::new(shared, granted))));
        }
        let thread = Thread::on(self.runtime().clone());
        let mut acquire = Acquire::new(shared, Arc::clone(&thread), request);
        let mut interruption = pin!(interruption);
        thread.block_on(poll_fn(|context| {
            if let Poll::Ready(claim) = Pin::new(&mut acquire).poll(context) {
                return Poll::Ready(claim.map(|claim| Ok(Slot::new(claim))));
            }
            interruption.as_mut().poll(context).map(|output| Ok(Err(output)))
        }))
    }

    /// As [`blocking_slot`](Bulkhead::blocking_slot), for a slot that borrows nothing.
    ///
    /// # Errors
    ///
    /// As [`blocking_slot`](Bulkhead::blocking_slot).
    #[doc(alias = "acquire_owned")]
    #[inline]
    pub fn blocking_slot_owned(&self) -> Result<OwnedSlot, Rejection> {
        self.blocking_slot_owned_with(Request::new())
    }

    /// As [`blocking_slot_with`](Bulkhead::blocking_slot_with), for a slot that borrows nothing.
    ///
    /// # Errors
    ///
    /// As [`blocking_slot_with`](Bulkhead::blocking_slot_with).
    #[doc(alias = "acquire_many_owned")]
    #[inline]
    pub fn blocking_slot_owned_with(&self, request: Request<R::Instant>) -> Result<OwnedSlot, Rejection> {
        let request = request.on(self.runtime());
        block_for_claim(Arc::clone(&self.handle().shared), request, || self.runtime().clone()).map(OwnedSlot::new)
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
    /// # use bulklink::{Bulkhead, testing::FakeClock};
    /// let builder = Bulkhead::builder_on(FakeClock::new(), "payments");
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
        self.blocking_execute_with(Request::new(), operation)
    }

    /// As [`blocking_execute`](Bulkhead::blocking_execute), with a cost, a limit or a deadline for
    /// this call.
    ///
    /// # Errors
    ///
    /// As [`blocking_slot_with`](Bulkhead::blocking_slot_with). The operation has then not begun.
    #[doc(alias("execute_within", "execute_before"))]
    #[inline]
    pub fn blocking_execute_with<T>(
        &self,
        request: Request<R::Instant>,
        operation: impl FnOnce() -> T,
    ) -> Result<T, Rejection> {
        let _slot = self.blocking_slot_with(request)?;
        Ok(operation())
    }

    /// Runs `operation` on this thread if a slot is free now and no call waits for it.
    ///
    /// The call never waits for a slot. The thread is blocked only while the operation runs.
    ///
    /// # Errors
    ///
    /// If no slot is free, or if the bulkhead is closed. The operation has then not begun.
    #[doc(alias = "execute_now")]
    #[inline]
    pub fn blocking_try_execute<T>(&self, operation: impl FnOnce() -> T) -> Result<T, Rejection> {
        let _slot = self.try_slot()?;
        Ok(operation())
    }

    /// As [`blocking_execute`](Bulkhead::blocking_execute), for an operation that can fail: a
    /// rejection and the operation's own error come as one error type.
    ///
    /// # Errors
    ///
    /// [`ExecuteError::Rejected`] as [`blocking_execute`](Bulkhead::blocking_execute), and
    /// [`ExecuteError::Operation`] with the operation's own error.
    pub fn blocking_execute_fallible<T, E>(
        &self,
        operation: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, ExecuteError<E>> {
        self.blocking_execute_fallible_with(Request::new(), operation)
    }

    /// As [`blocking_execute_fallible`](Bulkhead::blocking_execute_fallible), with a cost, a limit
    /// or a deadline for this call.
    ///
    /// # Errors
    ///
    /// As [`blocking_execute_fallible`](Bulkhead::blocking_execute_fallible); also as
    /// [`blocking_slot_with`](Bulkhead::blocking_slot_with).
    pub fn blocking_execute_fallible_with<T, E>(
        &self,
        request: Request<R::Instant>,
        operation: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, ExecuteError<E>> {
        self.blocking_execute_with(request, operation)?.map_err(ExecuteError::Operation)
    }

    /// Blocks until the bulkhead is closed and the last operation has ended. Does not close it.
    ///
    /// A future that has been granted a slot, and is neither polled nor dropped, holds that slot.
    /// While such a future is kept, this call does not return, unless the slot is [taken
    /// back](crate::Builder::collect_within).
    #[doc(alias = "wait_closed")]
    pub fn blocking_closed(&self) {
        Thread::on(self.runtime().clone()).block_on(self.closed());
    }

    /// As [`blocking_closed`](Bulkhead::blocking_closed), but for at most `limit`. Returns whether
    /// the bulkhead is closed and the last operation has ended.
    ///
    /// ```
    /// # use bulklink::{Bulkhead, StdClock};
    /// # use std::time::Duration;
    /// let payments = Bulkhead::builder_on(StdClock, "payments").parallelism(1).build()?;
    /// let running = payments.try_slot()?;
    /// payments.close();
    /// assert!(!payments.blocking_closed_within(Duration::from_millis(5)));
    /// drop(running);
    /// assert!(payments.blocking_closed_within(Duration::from_millis(5)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn blocking_closed_within(&self, limit: Duration) -> bool {
        block_until_closed(self.runtime(), self.closed(), limit)
    }

    /// Closes the bulkhead immediately, and blocks until the last operation has ended, as
    /// [`blocking_closed`](Bulkhead::blocking_closed) does. A future that has been granted a slot
    /// must be polled or dropped for that, unless its slot is [taken
    /// back](crate::Builder::collect_within).
    pub fn blocking_close_and_wait(&self) {
        self.close();
        self.blocking_closed();
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

/// Blocks the thread until `closed` completes, but for at most `limit`. Returns whether it has.
pub(crate) fn block_until_closed<C>(clock: &C, closed: Closed<'_>, limit: Duration) -> bool
where
    C: Clock + Clone + Send + Sync + 'static,
{
    let thread = Thread::on(clock.clone());
    let deadline = clock.now().saturating_add(limit);
    let (mut closed, mut sleep) = (pin!(closed), pin!(thread.sleep_until(deadline)));
    thread.block_on(poll_fn(|context| {
        if closed.as_mut().poll(context).is_ready() {
            return Poll::Ready(true);
        }
        let is_late = clock.now() >= deadline || sleep.as_mut().poll(context).is_ready();
        if is_late { Poll::Ready(false) } else { Poll::Pending }
    }))
}
