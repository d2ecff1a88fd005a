//! The future of an operation behind a guard.
//!
//! Written by hand, because an `async` block would cost a closed circuit twice the instructions.

use std::future::Future;
use std::mem::{self, ManuallyDrop};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bulklink::runtime::{Instant, Runtime, Timer};
use bulklink::{Request, Slot, SlotFuture, plumbing};
use pin_project_lite::pin_project;

use super::run::Limit;
use super::slot::Unused;
use super::{Guard, GuardError};
use crate::breaker::{Core, Ending, NextTransition, Operation, Source, Ticket};
use crate::{Call, Classify, OpenCircuit};

pin_project! {
    pub(super) struct Execute<'a, F, R: Timer, K> {
        #[pin]
        operation: Option<F>,
        // Dropped by hand, because the code that drops it is long: a call that ended in its first
        // poll does not go there.
        rest: ManuallyDrop<Option<Rest<'a, R>>>,
        start: Start<R::Instant>,
        guard: &'a Guard<R, K>,
    }

    impl<F, R: Timer, K> PinnedDrop for Execute<'_, F, R, K> {
        #[inline]
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if this.rest.is_some() {
                // The operation is dropped before the rest, which has the slot, also by a panic.
                let _rest = Finish(this.rest);
                this.operation.set(None);
            }
        }
    }
}

/// Drops the rest of a call.
struct Finish<'p, T>(&'p mut ManuallyDrop<Option<T>>);

impl<T> Drop for Finish<'_, T> {
    #[cold]
    fn drop(&mut self) {
        drop(ManuallyDrop::into_inner(mem::replace(self.0, ManuallyDrop::new(None))));
    }
}

/// Copied, so that nothing has to be dropped.
#[derive(Clone, Copy)]
enum Start<I> {
    /// Not polled yet, and without a cost, a limit or a deadline of its own.
    Plain,
    With(Request<I>),
    Polled,
}

/// A call that has been polled and has not ended.
enum Rest<'a, R: Timer> {
    /// In the queue of the bulkhead, and waiting for the circuit to open.
    Waiting(SlotFuture<'a, R>, Option<NextTransition<'a>>),
    /// The circuit is not closed: the call may have to ask a store.
    Asking(Asking<'a>, Option<Unused<Slot<'a>>>),
    Running {
        call: Call<'a>,
        _slot: Slot<'a>,
        limit: Option<Limit<R>>,
    },
}

type Asking<'a> = Pin<Box<dyn Future<Output = Result<Call<'a>, OpenCircuit>> + Send + 'a>>;

/// A call in its first poll. If this is dropped, something has panicked.
struct Polling<'a> {
    core: &'a Core,
    ticket: Ticket,
    began: Instant,
    ending: Ending,
}

impl Drop for Polling<'_> {
    #[cold]
    fn drop(&mut self) {
        self.core.settle(self.ticket.pass(), self.began, self.ending);
    }
}

impl<'a, F, R: Runtime, K> Execute<'a, F, R, K> {
    #[inline]
    pub(super) fn plain(guard: &'a Guard<R, K>, operation: F) -> Self {
        Execute { operation: Some(operation), rest: ManuallyDrop::new(None), start: Start::Plain, guard }
    }

    #[inline]
    pub(super) fn with(guard: &'a Guard<R, K>, request: Request<R::Instant>, operation: F) -> Self {
        Execute { operation: Some(operation), rest: ManuallyDrop::new(None), start: Start::With(request), guard }
    }
}

impl<T, E, F, R, K> Future for Execute<'_, F, R, K>
where
    F: Future<Output = Result<T, E>>,
    R: Runtime,
    K: Classify<T, E>,
{
    type Output = Result<T, GuardError<E>>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let guard = *this.guard;
        // Usually the circuit is closed and a slot is free, which takes no more than this.
        if matches!(this.start, Start::Plain) {
            let core = &**guard.breaker.core();
            if let Some((ticket, began)) = core.admit_closed() {
                let polling = Polling { core, ticket, began, ending: Ending::Panicked };
                if let Some(slot) = plumbing::take_free(&guard.bulkhead) {
                    *this.start = Start::Polled;
                    return guard.poll_first(polling, slot, this.operation, this.rest, context);
                }
                mem::forget(polling);
            }
        }
        guard.poll_rest(this.start, this.operation, this.rest, context)
    }
}

impl<R: Runtime, K> Guard<R, K> {
    /// `core` is that of the breaker, which a first poll has at hand.
    #[inline]
    fn limit(&self, core: &Core) -> Option<Limit<R>> {
        Some(Limit::new(self.bulkhead.runtime(), core.run_limit.or(self.own_limit)?))
    }

    /// Polls an operation for the first time, in its slot.
    #[inline]
    fn poll_first<'a, T, E, F>(
        &'a self,
        mut polling: Polling<'a>,
        slot: Slot<'a>,
        operation: Pin<&mut Option<F>>,
        rest: &mut Option<Rest<'a, R>>,
        context: &mut Context<'_>,
    ) -> Poll<Result<T, GuardError<E>>>
    where
        F: Future<Output = Result<T, E>>,
        K: Classify<T, E>,
    {
        let Polling { core, ticket, began, .. } = polling;
        let mut limit = self.limit(core);
        let mut operation = Operation(operation);
        let Some(pinned) = operation.0.as_mut().as_pin_mut() else { unreachable!("it was not polled before") };
        let polled = pinned.poll(context);
        // If the classifier panics, nothing is known of the operation.
        polling.ending = Ending::Cancelled;
        if let Poll::Ready(result) = polled {
            let outcome = self.breaker.classifier().classify(&result);
            mem::forget(polling);
            core.settle_closed(ticket, began, outcome);
            return Poll::Ready(result.map_err(GuardError::Operation));
        }
        let pass = ticket.pass();
        if let Some(limit) = &mut limit {
            if limit.poll(self.bulkhead.runtime(), context).is_ready() {
                mem::forget(polling);
                core.settle(pass, began, Ending::TimedOut);
                return Poll::Ready(Err(GuardError::TimedOut(self.timed_out(limit.length))));
            }
        }
        mem::forget(polling);
        mem::forget(operation);
        let call = Call::new(Source::Borrowed(self.breaker.core()), pass, began);
        *rest = Some(Rest::Running { call, _slot: slot, limit });
        Poll::Pending
    }

    /// Polls a call that does not end in its first poll.
    #[inline(never)]
    fn poll_rest<'a, T, E, F>(
        &'a self,
        start: &mut Start<R::Instant>,
        mut operation: Pin<&mut Option<F>>,
        rest: &mut Option<Rest<'a, R>>,
        context: &mut Context<'_>,
    ) -> Poll<Result<T, GuardError<E>>>
    where
        F: Future<Output = Result<T, E>>,
        K: Classify<T, E>,
    {
        let request = match mem::replace(start, Start::Polled) {
            Start::Plain => Some(Request::new()),
            Start::With(request) => Some(request),
            Start::Polled => None,
        };
        if let Some(request) = request {
            if let Err(open) = self.breaker.check() {
                operation.set(None);
                return Poll::Ready(Err(GuardError::Open(open)));
            }
            *rest = Some(Rest::Waiting(plumbing::slot_with(&self.bulkhead, request), None));
        }
        let answer = ready!(self.poll_steps(operation.as_mut(), rest, context));
        operation.set(None);
        *rest = None;
        Poll::Ready(answer)
    }

    fn poll_steps<'a, T, E, F>(
        &'a self,
        mut operation: Pin<&mut Option<F>>,
        rest: &mut Option<Rest<'a, R>>,
        context: &mut Context<'_>,
    ) -> Poll<Result<T, GuardError<E>>>
    where
        F: Future<Output = Result<T, E>>,
        K: Classify<T, E>,
    {
        loop {
            *rest = Some(match rest.as_mut().expect("polled again after it had completed") {
                Rest::Waiting(acquire, transition) => {
                    if let Poll::Ready(slot) = Pin::new(acquire).poll(context) {
                        let slot = slot?;
                        if let Some(call) = self.breaker.admit_closed() {
                            Rest::Running { call, _slot: slot, limit: self.limit(self.breaker.core()) }
                        } else {
                            let slot = Unused::new(slot, Slot::abandon);
                            Rest::Asking(Box::pin(self.breaker.core().ask_operation()), Some(slot))
                        }
                    } else {
                        if transition.is_none() {
                            // In this order, so that no transition falls between.
                            *transition = Some(NextTransition::new(Source::Borrowed(self.breaker.core())));
                            self.breaker.check()?;
                        }
                        if let Some(next) = transition {
                            ready!(Pin::new(next).poll(context));
                        }
                        *transition = None;
                        continue;
                    }
                }
                Rest::Asking(asking, slot) => {
                    let call = ready!(asking.as_mut().poll(context))?;
                    let Some(slot) = slot.take() else { unreachable!("it is taken once") };
                    Rest::Running { call, _slot: slot.begin(), limit: self.limit(self.breaker.core()) }
                }
                Rest::Running { call, limit, .. } => {
                    let Some(pinned) = operation.as_mut().as_pin_mut() else { unreachable!("it has not ended") };
                    if let Poll::Ready(result) = call.poll(pinned, context) {
                        call.end(Ending::Outcome(self.breaker.classifier().classify(&result)));
                        return Poll::Ready(result.map_err(GuardError::Operation));
                    }
                    let Some(limit) = limit else { return Poll::Pending };
                    ready!(limit.poll(self.bulkhead.runtime(), context));
                    call.end(Ending::TimedOut);
                    return Poll::Ready(Err(GuardError::TimedOut(self.timed_out(limit.length))));
                }
            });
        }
    }
}
