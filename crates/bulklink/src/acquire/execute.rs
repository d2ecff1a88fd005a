//! Running an operation in a slot.

use alloc::boxed::Box;
use core::fmt;
use core::future::Future;
use core::marker::PhantomData;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::acquire::slot::Held;
use crate::{OwnedSlot, OwnedSlotFuture, Rejection, Runtime, Timer};

pin_project! {
    /// Acquires the slot `S` that the future `A` returns, then runs the operation in it. `M` makes
    /// the value of the call. The operation is stored once, in place. It must be dropped before its
    /// slot is given back, so its field comes first.
    pub(crate) struct Execute<A, S: Held, F, M> {
        #[pin]
        operation: Option<F>,
        stage: Stage<A, S>,
        answer: PhantomData<M>,
    }
}

#[derive(Debug)]
enum Stage<A, S> {
    Acquiring(A),
    Running(S),
    Done,
}

/// Makes the value of a call out of a rejection or the operation's output.
pub(crate) trait Answer<T> {
    type Value;

    /// Returns whether the operation did its work. Otherwise its end says nothing to an adaptive
    /// limit, as that of an operation that is cancelled.
    #[inline]
    fn is_success(_output: &T) -> bool {
        true
    }

    fn answer(outcome: Result<T, Rejection>) -> Self::Value;
}

/// The value of a call is the output or the rejection.
pub(crate) struct Plain;

/// The value of a call is the result of the operation, with a rejection as one of its errors.
pub(crate) struct Flat;

impl<T> Answer<T> for Plain {
    type Value = Result<T, Rejection>;

    #[inline]
    fn answer(outcome: Result<T, Rejection>) -> Self::Value {
        outcome
    }
}

impl<T, E> Answer<Result<T, E>> for Flat {
    type Value = Result<T, ExecuteError<E>>;

    #[inline]
    fn is_success(output: &Result<T, E>) -> bool {
        output.is_ok()
    }

    #[inline]
    fn answer(outcome: Result<Result<T, E>, Rejection>) -> Self::Value {
        outcome?.map_err(ExecuteError::Operation)
    }
}

impl<A, S: Held, F, M> Execute<A, S, F, M> {
    #[inline]
    pub(crate) fn new(slot: A, operation: F) -> Self {
        Execute { operation: Some(operation), stage: Stage::Acquiring(slot), answer: PhantomData }
    }
}

impl<A, S: Held, F, M> Future for Execute<A, S, F, M>
where
    A: Future<Output = Result<S, Rejection>> + Unpin,
    F: Future,
    M: Answer<F::Output>,
{
    type Output = M::Value;

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `Acquire::poll`")]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<M::Value> {
        let mut this = self.project();
        if let Stage::Acquiring(acquire) = this.stage {
            match ready!(Pin::new(acquire).poll(context)) {
                Ok(slot) => *this.stage = Stage::Running(slot),
                Err(rejection) => return Poll::Ready(M::answer(Err(rejection))),
            }
        }
        let operation = this.operation.as_mut().as_pin_mut().expect("polled again after it had completed");
        let output = ready!(operation.poll(context));
        // In this order, as in a drop: the operation ends before its slot is free.
        this.operation.set(None);
        if let Stage::Running(slot) = this.stage {
            if M::is_success(&output) {
                slot.complete();
            }
        }
        *this.stage = Stage::Done;
        Poll::Ready(M::answer(Ok(output)))
    }
}

pin_project! {
    /// A future that runs an operation in a slot, and borrows nothing; returned by
    /// [`BoundRequest::execute`](crate::BoundRequest::execute).
    ///
    /// It is `'static` if the operation `F` is, so a task can be spawned with it. Its type can be
    /// named, so it can be a field, or the future of a service.
    ///
    /// # Cancel safety
    ///
    /// Dropping it drops the operation, and then releases its slot or gives up its place in the
    /// queue.
    ///
    /// # Panics
    ///
    /// If polled again after it has completed.
    #[must_use = "futures do nothing unless polled"]
    pub struct ExecuteOwned<F, R: Timer> {
        #[pin]
        inner: Execute<OwnedSlotFuture<R>, OwnedSlot, F, Plain>,
    }
}

pin_project! {
    /// As [`ExecuteOwned`], for an operation that can fail; returned by
    /// [`BoundRequest::execute_fallible`](crate::BoundRequest::execute_fallible).
    #[must_use = "futures do nothing unless polled"]
    pub struct ExecuteFallibleOwned<F, R: Timer> {
        #[pin]
        inner: Execute<OwnedSlotFuture<R>, OwnedSlot, F, Flat>,
    }
}

impl<F, R: Timer> ExecuteOwned<F, R> {
    #[inline]
    pub(crate) fn new(slot: OwnedSlotFuture<R>, operation: F) -> Self {
        ExecuteOwned { inner: Execute::new(slot, operation) }
    }
}

impl<F, R: Timer> ExecuteFallibleOwned<F, R> {
    #[inline]
    pub(crate) fn new(slot: OwnedSlotFuture<R>, operation: F) -> Self {
        ExecuteFallibleOwned { inner: Execute::new(slot, operation) }
    }
}

impl<F: Future, R: Runtime> Future for ExecuteOwned<F, R> {
    type Output = Result<F::Output, Rejection>;

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `Acquire::poll`")]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().inner.poll(context)
    }
}

impl<T, E, F: Future<Output = Result<T, E>>, R: Runtime> Future for ExecuteFallibleOwned<F, R> {
    type Output = Result<T, ExecuteError<E>>;

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `Acquire::poll`")]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().inner.poll(context)
    }
}

impl<F, R: Timer> fmt::Debug for ExecuteOwned<F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ExecuteOwned").field(&self.inner.stage).finish()
    }
}

impl<F, R: Timer> fmt::Debug for ExecuteFallibleOwned<F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ExecuteFallibleOwned").field(&self.inner.stage).finish()
    }
}

/// The error of a fallible operation: it was not admitted, or it ran and failed. There is no third
/// case, so a `match` needs none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecuteError<E> {
    /// The operation was not admitted, and has not begun.
    Rejected(Rejection),
    /// The operation ran, and failed with this error.
    Operation(E),
}

impl<E> ExecuteError<E> {
    /// Returns the rejection, if the operation was not admitted.
    #[must_use]
    pub fn rejection(&self) -> Option<&Rejection> {
        match self {
            ExecuteError::Rejected(rejection) => Some(rejection),
            ExecuteError::Operation(_) => None,
        }
    }

    /// Returns the rejection or the operation's error as a boxed error, for a chain of layers or
    /// for `?`. Its own error may be boxed already, or be one of `anyhow`, which are no `Error`.
    ///
    /// ```
    /// # use bulklink_tokio::{Bulkhead, ExecuteError};
    /// type BoxError = Box<dyn std::error::Error + Send + Sync>;
    ///
    /// async fn pay() -> Result<&'static str, BoxError> {
    ///     Err("the account is empty".into())
    /// }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), BoxError> {
    /// # let payments = Bulkhead::builder("payments").parallelism(1).build()?;
    /// # let paid = async {
    /// let receipt = payments.execute_fallible(pay()).await.map_err(ExecuteError::into_boxed)?;
    /// # Ok::<_, BoxError>(receipt)
    /// # };
    /// # assert_eq!(paid.await.unwrap_err().to_string(), "the account is empty");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn into_boxed(self) -> Box<dyn core::error::Error + Send + Sync>
    where
        E: Into<Box<dyn core::error::Error + Send + Sync>>,
    {
        match self {
            ExecuteError::Rejected(rejection) => rejection.into(),
            ExecuteError::Operation(error) => error.into(),
        }
    }
}

impl<E> From<Rejection> for ExecuteError<E> {
    fn from(rejection: Rejection) -> Self {
        ExecuteError::Rejected(rejection)
    }
}

/// Names the failed step; the [source](core::error::Error::source) has the cause.
impl<E> fmt::Display for ExecuteError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ExecuteError::Rejected(_) => "the call was not admitted",
            ExecuteError::Operation(_) => "the operation failed",
        })
    }
}

impl<E: core::error::Error + 'static> core::error::Error for ExecuteError<E> {
    /// Returns the rejection, or the operation's own error.
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            ExecuteError::Rejected(rejection) => Some(rejection),
            ExecuteError::Operation(error) => Some(error),
        }
    }
}
