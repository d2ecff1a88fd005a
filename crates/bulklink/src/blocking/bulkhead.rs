//! The calls that block.

use alloc::sync::Arc;
use core::future::Future;
use core::ops::Deref;
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;

use bulklink_core::{InvalidArgument, Request as CoreRequest};

use super::thread::Thread;
use super::{Bulkhead, Threads};
use crate::acquire::future::{PollHold, Waiting};
use crate::acquire::slot::Hold;
use crate::gate::shared::Shared;
use crate::{Builder, Clock, ExecuteError, Handle, OwnedSlot, Rejection, Request, Slot, Timer};

impl Bulkhead<Threads> {
    /// Begins a bulkhead with this name, for threads alone. [Labels](Builder#labels) says which
    /// names there can be.
    pub fn builder(label: &str) -> Builder<Threads> {
        Builder::new(Threads, label)
    }
}

impl Builder<Threads> {
    /// Makes the bulkhead.
    ///
    /// # Errors
    ///
    /// If a number is out of its range, if neither parallelism nor capacity was set, or if the
    /// label is blank or holds control or invisible characters (see [Labels](Builder#labels)). The
    /// error names the field and the value.
    pub fn build(self) -> Result<Bulkhead<Threads>, InvalidArgument> {
        let (shared, runtime) = self.share()?;
        Ok(Bulkhead { handle: Handle { shared }, runtime })
    }
}

impl<R: Clock + Clone + Send + Sync + 'static> Bulkhead<R> {
    /// The bulkhead without its clock.
    #[must_use]
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Blocks until there is a slot, if need be, and as long as the bulkhead lets it.
    ///
    /// # Errors
    ///
    /// If there is no room to wait, if the wait limit passes, or if the bulkhead is or gets closed.
    ///
    /// # Fairness
    ///
    /// First come, first served, together with those who await a slot of the same bulkhead.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink::blocking::Bulkhead;
    /// let payments = Bulkhead::builder("payments").parallelism(1).waiting_room(1).build()?;
    /// let slot = payments.slot()?;
    /// // … use what the slot protects …
    /// drop(slot);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias("acquire", "acquire_blocking", "blocking_acquire"))]
    #[inline]
    pub fn slot(&self) -> Result<Slot<'_>, Rejection> {
        self.slot_with(Request::new())
    }

    /// As [`slot`](Bulkhead::slot), with a cost, a limit or a deadline of its own.
    ///
    /// # Errors
    ///
    /// As [`slot`](Bulkhead::slot); besides, if the deadline is past, or if the cost is zero or more than the whole capacity.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink::blocking::{Bulkhead, Request};
    /// # use bulklink::Reason;
    /// # use std::time::{Duration, Instant};
    /// let payments = Bulkhead::builder("payments").capacity(2).waiting_room(1).build()?;
    /// let both = payments.slot_with(Request::new().cost(2).before(Instant::now() + Duration::from_secs(1)))?;
    /// let late = payments.slot_with(Request::new().within(Duration::from_millis(1)));
    /// assert_eq!(late.unwrap_err().reason(), Reason::Expired);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias("acquire_many", "slot_within", "slot_before"))]
    #[inline]
    pub fn slot_with(&self, request: Request<R::Instant>) -> Result<Slot<'_>, Rejection> {
        self.wait(&*self.handle.shared, request).map(Slot::new)
    }

    /// Takes a slot if there is one and nobody waits for it. Never blocks.
    ///
    /// # Errors
    ///
    /// If there is no room right now, or if the bulkhead is closed.
    #[doc(alias("try_acquire", "slot_now"))]
    #[inline]
    pub fn try_slot(&self) -> Result<Slot<'_>, Rejection> {
        self.try_borrow(const { &CoreRequest::new() })
    }

    /// As [`try_slot`](Bulkhead::try_slot), with a cost of its own.
    ///
    /// # Errors
    ///
    /// As [`try_slot`](Bulkhead::try_slot); besides, if the deadline is past, or if the cost is zero or more than the whole
    /// capacity.
    #[doc(alias = "try_acquire_many")]
    #[inline]
    pub fn try_slot_with(&self, request: Request<R::Instant>) -> Result<Slot<'_>, Rejection> {
        self.try_borrow(&request.on(&self.runtime))
    }

    /// As [`slot`](Bulkhead::slot), for a slot that borrows nothing.
    ///
    /// # Errors
    ///
    /// As [`slot`](Bulkhead::slot).
    #[doc(alias = "acquire_owned")]
    #[inline]
    pub fn slot_owned(&self) -> Result<OwnedSlot, Rejection> {
        self.slot_owned_with(Request::new())
    }

    /// As [`slot_with`](Bulkhead::slot_with), for a slot that borrows nothing.
    ///
    /// # Errors
    ///
    /// As [`slot_with`](Bulkhead::slot_with).
    #[doc(alias = "acquire_many_owned")]
    #[inline]
    pub fn slot_owned_with(&self, request: Request<R::Instant>) -> Result<OwnedSlot, Rejection> {
        self.wait(Arc::clone(&self.handle.shared), request).map(OwnedSlot::new)
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

    /// Runs `operation` on this thread in a slot, blocking until there is one if need be. The slot is given back when the
    /// operation ends, also by a panic.
    ///
    /// # Errors
    ///
    /// As [`slot`](Bulkhead::slot). The operation has then not begun.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink::blocking::Bulkhead;
    /// let payments = Bulkhead::builder("payments").parallelism(1).waiting_room(1).build()?;
    /// assert_eq!(payments.execute(|| "paid")?, "paid");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn execute<T>(&self, operation: impl FnOnce() -> T) -> Result<T, Rejection> {
        self.execute_with(Request::new(), operation)
    }

    /// As [`execute`](Bulkhead::execute), with a cost, a limit or a deadline of its own.
    ///
    /// # Errors
    ///
    /// As [`slot_with`](Bulkhead::slot_with). The operation has then not begun.
    #[doc(alias("execute_within", "execute_before"))]
    #[inline]
    pub fn execute_with<T>(&self, request: Request<R::Instant>, operation: impl FnOnce() -> T) -> Result<T, Rejection> {
        let _slot = self.slot_with(request)?;
        Ok(operation())
    }

    /// Runs `operation` on this thread if there is a slot right now and nobody waits for it.
    ///
    /// # Errors
    ///
    /// If there is no room, or if the bulkhead is closed. The operation has then not begun.
    #[doc(alias = "execute_now")]
    #[inline]
    pub fn try_execute<T>(&self, operation: impl FnOnce() -> T) -> Result<T, Rejection> {
        let _slot = self.try_slot()?;
        Ok(operation())
    }

    /// As [`execute`](Bulkhead::execute), for an operation that can fail itself: both failures come in one error.
    ///
    /// # Errors
    ///
    /// [`ExecuteError::Rejected`] as [`execute`](Bulkhead::execute), and [`ExecuteError::Operation`] with the operation's own error.
    pub fn execute_fallible<T, E>(&self, operation: impl FnOnce() -> Result<T, E>) -> Result<T, ExecuteError<E>> {
        self.execute_fallible_with(Request::new(), operation)
    }

    /// As [`execute_fallible`](Bulkhead::execute_fallible), with a cost, a limit or a deadline of its own.
    ///
    /// # Errors
    ///
    /// As [`execute_fallible`](Bulkhead::execute_fallible).
    pub fn execute_fallible_with<T, E>(
        &self,
        request: Request<R::Instant>,
        operation: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, ExecuteError<E>> {
        self.execute_with(request, operation)?.map_err(ExecuteError::Operation)
    }

    /// Blocks until the bulkhead is closed and the last operation has ended. It closes nothing itself.
    ///
    /// A future of an async call that has been granted a slot and is neither polled nor dropped
    /// holds that slot, so while one is kept like that, this does not return.
    #[doc(alias = "wait_closed")]
    pub fn closed(&self) {
        Thread::on(self.runtime.clone()).block_on(self.handle.closed());
    }

    /// As [`closed`](Bulkhead::closed), for as long as `limit` at most. Returns whether it came to that.
    ///
    /// ```
    /// # use bulklink::blocking::Bulkhead;
    /// # use std::time::Duration;
    /// let payments = Bulkhead::builder("payments").parallelism(1).build()?;
    /// let running = payments.slot()?;
    /// payments.close();
    /// assert!(!payments.closed_within(Duration::from_millis(5)));
    /// drop(running);
    /// assert!(payments.closed_within(Duration::from_millis(5)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn closed_within(&self, limit: Duration) -> bool {
        let thread = Thread::on(self.runtime.clone());
        let deadline = self.runtime.now().saturating_add(limit);
        let (mut closed, mut sleep) = (pin!(self.handle.closed()), pin!(thread.sleep_until(deadline)));
        thread.block_on(core::future::poll_fn(|context| {
            if closed.as_mut().poll(context).is_ready() {
                return Poll::Ready(true);
            }
            let is_late = self.runtime.now() >= deadline || sleep.as_mut().poll(context).is_ready();
            if is_late { Poll::Ready(false) } else { Poll::Pending }
        }))
    }

    /// Closes the bulkhead immediately, and blocks until the last operation has ended, as
    /// [`closed`](Bulkhead::closed): a future of an async call that has been granted a slot has to
    /// be polled or dropped for that.
    pub fn close_and_wait(&self) {
        self.handle.close();
        self.closed();
    }

    #[inline]
    fn wait<S: Deref<Target = Shared>>(&self, shared: S, request: Request<R::Instant>) -> Result<Hold<S>, Rejection> {
        let request = request.on(&self.runtime);
        let granted = if request.is_simple() { shared.acquire() } else { None };
        match granted {
            Some(grant) => Ok(Hold::new(shared, grant)),
            None => self.block(shared, request),
        }
    }

    #[cold]
    fn block<S: Deref<Target = Shared>>(&self, shared: S, request: CoreRequest) -> Result<Hold<S>, Rejection> {
        let thread = Thread::on(self.runtime.clone());
        let mut waiting = Waiting::new(shared, thread.clone(), request);
        thread.block_on(core::future::poll_fn(|context| waiting.poll_hold(context)))
    }
}
