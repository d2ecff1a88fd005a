//! Running an operation in a slot.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::Rejection;

pin_project! {
    /// Acquires the slot `S` that the future `A` returns, then runs the operation in it. The
    /// operation is stored once, in place. It must be dropped before its slot is given back, so its
    /// field comes first.
    pub(crate) struct Execute<A, S, F> {
        #[pin]
        operation: Option<F>,
        stage: Stage<A, S>,
    }
}

enum Stage<A, S> {
    Acquiring(A),
    Running(S),
    Done,
}

impl<A: Future<Output = Result<S, Rejection>> + Unpin, S, F> Execute<A, S, F> {
    #[inline]
    pub(crate) fn new(slot: A, operation: F) -> Self {
        Execute { operation: Some(operation), stage: Stage::Acquiring(slot) }
    }
}

impl<A: Future<Output = Result<S, Rejection>> + Unpin, S, F: Future> Future for Execute<A, S, F> {
    type Output = Result<F::Output, Rejection>;

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `Acquire::poll`")]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let Stage::Acquiring(acquire) = this.stage {
            *this.stage = Stage::Running(ready!(Pin::new(acquire).poll(context))?);
        }
        let operation = this.operation.as_mut().as_pin_mut().expect("not polled again after it had completed");
        let output = ready!(operation.poll(context));
        // In this order, as in a drop: the operation ends before its slot is free.
        this.operation.set(None);
        *this.stage = Stage::Done;
        Poll::Ready(Ok(output))
    }
}

pin_project! {
    /// Acquires a slot and runs a fallible operation in it, with a rejection and the operation's
    /// error in one error type.
    pub(crate) struct ExecuteFallible<E> {
        #[pin]
        execute: E,
    }
}

impl<E> ExecuteFallible<E> {
    pub(crate) fn new(execute: E) -> Self {
        ExecuteFallible { execute }
    }
}

impl<T, E, X: Future<Output = Result<Result<T, E>, Rejection>>> Future for ExecuteFallible<X> {
    type Output = Result<T, ExecuteError<E>>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let outcome = ready!(self.project().execute.poll(context));
        Poll::Ready(match outcome {
            Ok(output) => output.map_err(ExecuteError::Operation),
            Err(rejection) => Err(ExecuteError::Rejected(rejection)),
        })
    }
}

/// The error of a fallible operation: it was not admitted, or it ran and failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecuteError<E> {
    /// The operation was not admitted, and has not begun.
    Rejected(Rejection),
    /// The operation ran, and failed with this error.
    Operation(E),
}

impl<E> From<Rejection> for ExecuteError<E> {
    fn from(rejection: Rejection) -> Self {
        ExecuteError::Rejected(rejection)
    }
}

impl<E: fmt::Display> fmt::Display for ExecuteError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExecuteError::Rejected(rejection) => rejection.fmt(f),
            ExecuteError::Operation(error) => error.fmt(f),
        }
    }
}

impl<E: core::error::Error + 'static> core::error::Error for ExecuteError<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            ExecuteError::Rejected(rejection) => rejection.source(),
            ExecuteError::Operation(error) => error.source(),
        }
    }
}
