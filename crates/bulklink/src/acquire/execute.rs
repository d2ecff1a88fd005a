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
    pub(crate) struct Execute<A, S, F, M> {
        #[pin]
        operation: Option<F>,
        stage: Stage<A, S>,
        // Makes the value of the call out of a rejection or the operation's output.
        answer: M,
    }
}

enum Stage<A, S> {
    Acquiring(A),
    Running(S),
    Done,
}

impl<A, S, F, M, T> Execute<A, S, F, M>
where
    A: Future<Output = Result<S, Rejection>> + Unpin,
    F: Future,
    M: Fn(Result<F::Output, Rejection>) -> T,
{
    #[inline]
    pub(crate) fn new(slot: A, operation: F, answer: M) -> Self {
        Execute { operation: Some(operation), stage: Stage::Acquiring(slot), answer }
    }
}

impl<A, S, F, M, T> Future for Execute<A, S, F, M>
where
    A: Future<Output = Result<S, Rejection>> + Unpin,
    F: Future,
    M: Fn(Result<F::Output, Rejection>) -> T,
{
    type Output = T;

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `Acquire::poll`")]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let mut this = self.project();
        if let Stage::Acquiring(acquire) = this.stage {
            match ready!(Pin::new(acquire).poll(context)) {
                Ok(slot) => *this.stage = Stage::Running(slot),
                Err(rejection) => return Poll::Ready((this.answer)(Err(rejection))),
            }
        }
        let operation = this.operation.as_mut().as_pin_mut().expect("not polled again after it had completed");
        let output = ready!(operation.poll(context));
        // In this order, as in a drop: the operation ends before its slot is free.
        this.operation.set(None);
        *this.stage = Stage::Done;
        Poll::Ready((this.answer)(Ok(output)))
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

impl<E> ExecuteError<E> {
    /// Puts a rejection and the operation's error into one error.
    pub(crate) fn flatten<T>(outcome: Result<Result<T, E>, Rejection>) -> Result<T, Self> {
        outcome?.map_err(ExecuteError::Operation)
    }
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
