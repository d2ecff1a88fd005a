//! The methods that run an operation in a slot.

use core::future::Future;

use crate::acquire::execute::{Execute, Flat, Plain};
use crate::{Bulkhead, ExecuteError, Rejection, Runtime, Wrapped};

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
    /// # use bulklink_tokio::Bulkhead;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let payments = Bulkhead::builder("payments").capacity(2).waiting_room(1).build()?;
    /// let receipt = payments.execute(async { "paid" }).await?;
    /// assert_eq!(receipt, "paid");
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub fn execute<F: Future>(
        &self,
        operation: F,
    ) -> impl Future<Output = Result<F::Output, Rejection>> + use<'_, F, R> {
        Execute::<_, _, _, Plain>::new(self.operation_slot(), operation)
    }

    /// As [`execute`](Bulkhead::execute), for an operation that can fail: a rejection and the
    /// operation's own error come as one error type.
    ///
    /// For an [adaptive limit](crate::Builder::adaptive) an error is no sign of the load, while
    /// every end of `execute` is a success. A [slot](Bulkhead::slot) with
    /// [`set_outcome`](crate::Slot::set_outcome) says more.
    ///
    /// # Errors
    ///
    /// [`ExecuteError::Rejected`] as [`execute`](Bulkhead::execute), and
    /// [`ExecuteError::Operation`] with the operation's own error.
    pub fn execute_fallible<T, E, F: Future<Output = Result<T, E>>>(
        &self,
        operation: F,
    ) -> impl Future<Output = Result<T, ExecuteError<E>>> + use<'_, T, E, F, R> {
        Execute::<_, _, _, Flat>::new(self.operation_slot(), operation)
    }

    /// Wraps an async function, so that each call of it runs in a slot of this bulkhead. A function
    /// of several arguments takes them as a tuple, as in `|(from, to)| transfer(from, to)`. It is
    /// called only once its call is admitted.
    ///
    /// ```
    /// use bulklink_tokio::Bulkhead;
    ///
    /// async fn send(amount: u32) -> String {
    ///     format!("sent {amount}")
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let payments = Bulkhead::builder("payments").parallelism(10).build()?;
    /// let send = payments.wrap(send);
    /// assert_eq!(send.call(5).await?, "sent 5");
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "decorator")]
    pub fn wrap<F>(&self, function: F) -> Wrapped<F, R> {
        self.owned().wrap(function)
    }
}
