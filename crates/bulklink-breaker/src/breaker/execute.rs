//! The future of an operation behind a breaker.
//!
//! Written by hand, because an `async` block that may also ask other processes would cost a closed
//! circuit a third more instructions.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::Breaker;
use super::ask::AskPass;
use super::call::{Call, Source};
use super::core::Core;
use super::error::{BreakerError, OpenCircuit};
use crate::Classify;

pin_project! {
    pub(super) struct Execute<'a, F, K> {
        #[pin]
        operation: Option<F>,
        entry: Entry<'a>,
        breaker: &'a Breaker<K>,
    }
}

/// How far a call is between two polls.
enum Entry<'a> {
    /// Not polled yet, or in a poll.
    Start,
    Asking(AskPass<'a>),
    Running(Call<'a>),
}

/// An operation that is dropped unless it is kept: also where a panic ends its poll, and before
/// what is declared above it.
pub(crate) struct Operation<'p, F>(pub(crate) Pin<&'p mut Option<F>>);

impl<F> Drop for Operation<'_, F> {
    #[inline]
    fn drop(&mut self) {
        self.0.set(None);
    }
}

impl<'a, F, K> Execute<'a, F, K> {
    #[inline]
    pub(super) fn new(breaker: &'a Breaker<K>, operation: F) -> Self {
        Execute { operation: Some(operation), entry: Entry::Start, breaker }
    }
}

impl<'a> Entry<'a> {
    /// Polls until the call is let through.
    #[cold]
    fn poll_asking(
        &mut self,
        mut asking: AskPass<'a>,
        core: &'a Core,
        context: &mut Context<'_>,
    ) -> Poll<Result<Call<'a>, OpenCircuit>> {
        if let Poll::Ready(asked) = asking.as_mut().poll(context) {
            return Poll::Ready(asked.map(|(pass, began)| Call::new(Source::Borrowed(core), pass, began)));
        }
        *self = Entry::Asking(asking);
        Poll::Pending
    }
}

impl<T, E, F, K> Future for Execute<'_, F, K>
where
    F: Future<Output = Result<T, E>>,
    K: Classify<T, E>,
{
    type Output = Result<T, BreakerError<E>>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let Breaker { core, classify } = *this.breaker;
        let core = &**core;
        let mut call = match mem::replace(this.entry, Entry::Start) {
            Entry::Start => match core.admit_if_closed() {
                Some((pass, began)) => Call::new(Source::Borrowed(core), pass, began),
                None => match core.ask() {
                    Some(asking) => ready!(this.entry.poll_asking(asking, core, context))?,
                    None => core.admit().map(|(pass, began)| Call::new(Source::Borrowed(core), pass, began))?,
                },
            },
            Entry::Asking(asking) => ready!(this.entry.poll_asking(asking, core, context))?,
            Entry::Running(call) => call,
        };
        let mut operation = Operation(this.operation);
        let pinned = operation.0.as_mut().as_pin_mut().expect("polled again after it had completed");
        let Poll::Ready(result) = call.poll(pinned, context) else {
            mem::forget(operation);
            *this.entry = Entry::Running(call);
            return Poll::Pending;
        };
        call.settle(classify.classify(&result));
        Poll::Ready(result.map_err(BreakerError::Operation))
    }
}
