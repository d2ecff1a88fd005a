//! The methods that run an operation in a slot.

use core::future::Future;

use crate::acquire::execute::{Execute, Flat, Plain};
use crate::{Bulkhead, ExecuteError, ExecuteFallibleOwned, ExecuteOwned, Rejection, Request, Runtime, Wrapped};

/// # Run an operation
impl<R: Runtime> Bulkhead<R> {
    /// Runs `operation` in a slot, and waits in FIFO order until one is free or the wait limit
    /// passes.
    ///
    /// The slot is released when the operation ends: when it returns a value, when it panics, or
    /// when it is dropped half-way.
    ///
    /// # Errors
    ///
    /// As [`slot`](Bulkhead::slot). The operation has then not begun. An async function that may do
    /// something before its future is polled is called inside an `async` block, which begins only
    /// in the slot: `async { send(5).await }`.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the operation, and then releases its slot or gives up its place in
    /// the queue.
    ///
    /// # Panics
    ///
    /// As [`slot`](Bulkhead::slot), and if it is polled again after it has completed.
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
    /// let receipt = payments.execute(async { "paid" }).await?;
    /// assert_eq!(receipt, "paid");
    ///
    /// # Ok::<(), bulklink::Rejection>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn execute<F: Future>(
        &self,
        operation: F,
    ) -> impl Future<Output = Result<F::Output, Rejection>> + use<'_, F, R> {
        self.execute_with(Request::new(), operation)
    }

    /// As [`execute`](Bulkhead::execute), with a cost, a limit or a deadline for this call.
    ///
    /// # Errors
    ///
    /// As [`slot_with`](Bulkhead::slot_with). The operation has then not begun.
    #[doc(alias("execute_within", "execute_before"))]
    #[inline]
    pub fn execute_with<F: Future>(
        &self,
        request: Request<R::Instant>,
        operation: F,
    ) -> impl Future<Output = Result<F::Output, Rejection>> + use<'_, F, R> {
        Execute::<_, _, _, Plain>::new(self.slot_with(request), operation)
    }

    /// As [`execute`](Bulkhead::execute), for a future that borrows nothing: a task can be spawned
    /// with it, and its type can be named.
    ///
    /// # Errors
    ///
    /// As [`execute`](Bulkhead::execute).
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink::testing::{Executor, FakeClock};
    /// # use bulklink::Bulkhead;
    /// # let mut executor = Executor::new(FakeClock::new());
    /// # let builder = Bulkhead::builder_on(executor.clock(), "payments");
    /// # let payments = builder.parallelism(2).build()?;
    /// let task = executor.spawn(payments.execute_owned(async { "paid" }));
    /// executor.run_until_idle();
    /// assert_eq!(task.output().unwrap()?, "paid");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn execute_owned<F: Future>(&self, operation: F) -> ExecuteOwned<F, R> {
        self.execute_owned_with(Request::new(), operation)
    }

    /// As [`execute_with`](Bulkhead::execute_with), for a future that borrows nothing.
    ///
    /// # Errors
    ///
    /// As [`execute_with`](Bulkhead::execute_with).
    #[inline]
    pub fn execute_owned_with<F: Future>(&self, request: Request<R::Instant>, operation: F) -> ExecuteOwned<F, R> {
        ExecuteOwned::new(self.slot_owned_with(request), operation)
    }

    /// Runs `operation` in a slot if one is free at the first poll and no call waits for it.
    ///
    /// # Errors
    ///
    /// If no slot is free when the future is first polled, or if the bulkhead is closed. The
    /// operation has then not begun.
    #[doc(alias = "execute_now")]
    #[inline]
    pub fn try_execute<F: Future>(
        &self,
        operation: F,
    ) -> impl Future<Output = Result<F::Output, Rejection>> + use<'_, F, R> {
        self.execute_with(Request::new().now(), operation)
    }

    /// As [`execute`](Bulkhead::execute), for an operation that can fail: a rejection and the
    /// operation's own error come as one error type.
    ///
    /// # Errors
    ///
    /// [`ExecuteError::Rejected`] as [`execute`](Bulkhead::execute), and
    /// [`ExecuteError::Operation`] with the operation's own error.
    pub fn execute_fallible<T, E, F: Future<Output = Result<T, E>>>(
        &self,
        operation: F,
    ) -> impl Future<Output = Result<T, ExecuteError<E>>> + use<'_, T, E, F, R> {
        self.execute_fallible_with(Request::new(), operation)
    }

    /// As [`execute_fallible`](Bulkhead::execute_fallible), with a cost, a limit or a deadline for
    /// this call.
    ///
    /// # Errors
    ///
    /// As [`execute_fallible`](Bulkhead::execute_fallible).
    pub fn execute_fallible_with<T, E, F: Future<Output = Result<T, E>>>(
        &self,
        request: Request<R::Instant>,
        operation: F,
    ) -> impl Future<Output = Result<T, ExecuteError<E>>> + use<'_, T, E, F, R> {
        Execute::<_, _, _, Flat>::new(self.slot_with(request), operation)
    }

    /// As [`execute_fallible`](Bulkhead::execute_fallible), for a future that borrows nothing: for
    /// example the future of a `tower` service, without a box.
    ///
    /// # Errors
    ///
    /// As [`execute_fallible`](Bulkhead::execute_fallible).
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink::testing::{Executor, FakeClock};
    /// # use bulklink::runtime::Runtime;
    /// # use bulklink::{Bulkhead, ExecuteFallibleOwned};
    /// # trait Service<Q> {
    /// #     type Future: Future;
    /// #     fn call(&mut self, request: Q) -> Self::Future;
    /// # }
    /// /// A service each of whose calls runs in a slot.
    /// struct Limited<S, R> {
    ///     service: S,
    ///     bulkhead: Bulkhead<R>,
    /// }
    ///
    /// impl<Q, T, E, S, R> Service<Q> for Limited<S, R>
    /// where
    ///     S: Service<Q, Future: Future<Output = Result<T, E>>>,
    ///     R: Runtime,
    /// {
    ///     type Future = ExecuteFallibleOwned<S::Future, R>;
    ///
    ///     fn call(&mut self, request: Q) -> Self::Future {
    ///         self.bulkhead.execute_fallible_owned(self.service.call(request))
    ///     }
    /// }
    /// ```
    #[inline]
    pub fn execute_fallible_owned<T, E, F>(&self, operation: F) -> ExecuteFallibleOwned<F, R>
    where
        F: Future<Output = Result<T, E>>,
    {
        self.execute_fallible_owned_with(Request::new(), operation)
    }

    /// As [`execute_fallible_with`](Bulkhead::execute_fallible_with), for a future that borrows
    /// nothing.
    ///
    /// # Errors
    ///
    /// As [`execute_fallible`](Bulkhead::execute_fallible).
    #[inline]
    pub fn execute_fallible_owned_with<T, E, F>(
        &self,
        request: Request<R::Instant>,
        operation: F,
    ) -> ExecuteFallibleOwned<F, R>
    where
        F: Future<Output = Result<T, E>>,
    {
        ExecuteFallibleOwned::new(self.slot_owned_with(request), operation)
    }

    /// Wraps an async function, so that each call of it runs in a slot of this bulkhead. A function
    /// of several arguments takes them as a tuple, as in `|(from, to)| transfer(from, to)`. It is
    /// called only once its call is admitted.
    ///
    /// ```
    /// # use bulklink::testing::{Executor, FakeClock};
    /// # use bulklink::Bulkhead;
    /// # let clock = FakeClock::new();
    /// async fn send(amount: u32) -> String {
    ///     format!("sent {amount}")
    /// }
    ///
    /// let payments = Bulkhead::builder_on(clock.clone(), "payments").parallelism(10).build()?;
    /// let send = payments.wrap(send);
    /// # let mut executor = Executor::new(clock);
    /// # let sent = executor.spawn(async move {
    /// assert_eq!(send.call(5).await?, "sent 5");
    /// # Ok::<(), bulklink::Rejection>(())
    /// # });
    /// # executor.run_until_idle();
    /// # sent.output().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "decorator")]
    pub fn wrap<F>(&self, function: F) -> Wrapped<F, R> {
        Wrapped::new(function, self.clone())
    }
}
