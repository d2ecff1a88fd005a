//! The futures that wait for a slot.

mod early;

use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::mem::{self, ManuallyDrop};
use core::num::NonZeroU64;
use core::ops::Deref;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use bulklink_core::{Grant, Instant, Request, Ticket};

use crate::acquire::slot::HeldGrant;
use crate::acquire::ticket;
use crate::gate::shared::{Expiry, NotGranted, Shared};
use crate::time::timer::LazySleep;
use crate::{OwnedSlot, Rejection, Runtime, Slot, Timer};

pub(crate) use early::Admission;

/// Acquires the right to run, by polling.
pub(crate) trait PollAcquire {
    /// The right to run, given back on drop.
    type Held;

    /// Polls for the right to run. Must not be called again after it has returned `Ready`.
    fn poll_acquire(&mut self, context: &mut Context<'_>) -> Poll<Result<Self::Held, Rejection>>;
}

/// A call that acquires a slot; `S` borrows, shares or leases its bulkhead. It is kept small,
/// because each waiting call has one.
pub(crate) struct Acquire<S: Deref<Target = Shared>, R: Timer> {
    runtime: R,
    /// `None` when the call is over. `ManuallyDrop`, so that the drop of a finished call, the usual
    /// case, runs no more code than a test for `None`.
    unfinished: ManuallyDrop<Option<Unfinished<S, R::Sleep>>>,
}

/// A call that has no answer yet.
struct Unfinished<S, T> {
    shared: S,
    state: AcquireState<T>,
}

enum AcquireState<T> {
    /// The next poll enters the gate with this request.
    NotEntered(Request),
    Queued {
        /// `None` while the ticket is being collected, and after it was.
        ticket: Option<Ticket>,
        /// Set if the call has a deadline and relies on no driver.
        sleep: Option<LazySleep<T>>,
    },
}

/// Only the timer is pinned, and it is boxed.
impl<S: Deref<Target = Shared>, R: Timer> Unpin for Acquire<S, R> {}

impl<S: Deref<Target = Shared>, R: Runtime> Acquire<S, R> {
    #[inline]
    pub(crate) fn new(shared: S, runtime: R, request: Request) -> Self {
        Acquire::of(runtime, Unfinished { shared, state: AcquireState::NotEntered(request) })
    }

    #[inline]
    fn of(runtime: R, unfinished: Unfinished<S, R::Sleep>) -> Self {
        Acquire { runtime, unfinished: ManuallyDrop::new(Some(unfinished)) }
    }
}

impl<S: Deref<Target = Shared>, R: Runtime> PollAcquire for Acquire<S, R> {
    type Held = HeldGrant<S>;

    /// Takes a grant from the word, which is all that most calls do. Small enough to be inlined
    /// into the caller.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the compiler judges by what the cold path weighs")]
    fn poll_acquire(&mut self, context: &mut Context<'_>) -> Poll<Result<HeldGrant<S>, Rejection>> {
        let granted = match &*self.unfinished {
            Some(Unfinished { shared, state: AcquireState::NotEntered(request) }) if request.is_simple() => {
                shared.acquire()
            }
            _ => None,
        };
        let Some(grant) = granted else { return self.poll_slow(context) };
        let Unfinished { shared, state } = self.unfinished.take().expect("just seen");
        // A request needs no drop, but the compiler does not see that the state is one.
        mem::forget(state);
        Poll::Ready(Ok(HeldGrant::new(shared, grant)))
    }
}

impl<S: Deref<Target = Shared>, R: Runtime> Acquire<S, R> {
    /// Polls the gate, as far as the runtime's cooperative budget allows.
    #[cold]
    #[inline(never)]
    fn poll_slow(&mut self, context: &mut Context<'_>) -> Poll<Result<HeldGrant<S>, Rejection>> {
        let Acquire { runtime, unfinished } = self;
        let call = unfinished.as_mut().expect("polled again after it had completed");
        let operations = call.shared.operations();
        let mut not_granted = NotGranted::UNKNOWN;
        let poll = |context: &mut Context<'_>| call.poll_gate(runtime, context, &mut not_granted);
        let granted = ready!(runtime.cooperate(context, operations, poll));
        let Unfinished { shared, state } = self.unfinished.take().expect("polled just now");
        // The state is dropped last: its timer is foreign and may panic, and by then the grant is
        // held.
        match (granted, not_granted) {
            (Some(grant), _) => {
                let held = HeldGrant::new(shared, grant);
                drop(state);
                Poll::Ready(Ok(held))
            }
            (None, NotGranted::Rejected(rejection)) => {
                drop(state);
                Poll::Ready(Err(rejection))
            }
            (None, NotGranted::Queued(_)) => unreachable!("a call that waits is pending"),
        }
    }
}

impl<S: Deref<Target = Shared>, T: Future<Output = ()>> Unfinished<S, T> {
    /// Enters the gate on the first poll, and polls the ticket after that. Returns `None` if the
    /// call is rejected, with the rejection in `not_granted`.
    ///
    /// # Panics
    ///
    /// If the call may have to wait with a limit and its thread has no timer.
    fn poll_gate<R: Runtime<Sleep = T>>(
        &mut self,
        runtime: &R,
        context: &mut Context<'_>,
        not_granted: &mut NotGranted,
    ) -> Poll<Option<Grant>> {
        let Unfinished { shared, state } = self;
        let request = match state {
            AcquireState::NotEntered(request) => request,
            AcquireState::Queued { .. } => return state.poll_ticket(shared, runtime, context, not_granted),
        };
        let home = || Ok(runtime.home()?.map(|home| home.id()));
        let mut ticket = None;
        match shared.enter(request, context.waker(), home, &mut ticket, not_granted) {
            Ok(None) => {}
            Ok(granted) => return Poll::Ready(granted),
            Err(error) => panic!("bulkhead {}: {error}", shared.label()),
        }
        let NotGranted::Queued(expiry) = *not_granted else { return Poll::Ready(None) };
        // Stored before a timer is made: if that panics, the next poll makes the timer, or the drop
        // gives up the ticket.
        *state = AcquireState::Queued { ticket, sleep: None };
        if let Expiry { deadline: Some(deadline), home: None } = expiry {
            state.ensure_wakeup(deadline, None, shared, runtime, context);
        }
        Poll::Pending
    }
}

impl<S: Deref<Target = Shared>, T> Unfinished<S, T> {
    /// Gives up the place in the queue, if the call has one, and then drops the timer: that is
    /// foreign and may panic.
    #[cold]
    #[inline(never)]
    fn end(unfinished: &mut Option<Self>) {
        if let Some(Unfinished { shared, state: AcquireState::Queued { ticket, .. } }) = unfinished {
            if let Some(ticket) = ticket.take() {
                ticket::withdraw(shared, ticket);
            }
        }
        *unfinished = None;
    }
}

impl<T: Future<Output = ()>> AcquireState<T> {
    /// Collects the ticket. If the call still waits, makes sure that something wakes it at its
    /// deadline.
    #[inline]
    fn poll_ticket<R: Runtime<Sleep = T>>(
        &mut self,
        shared: &Shared,
        runtime: &R,
        context: &mut Context<'_>,
        not_granted: &mut NotGranted,
    ) -> Poll<Option<Grant>> {
        let mut granted = self.collect(shared, context, not_granted);
        if granted.is_some() {
            return Poll::Ready(granted);
        }
        if let NotGranted::Queued(Expiry { deadline: Some(deadline), home }) = *not_granted {
            // The clock decides what has expired, not the timer, which may be late or early.
            let now = runtime.now();
            if now < deadline {
                self.ensure_wakeup(deadline, home, shared, runtime, context);
                return Poll::Pending;
            }
            // Expires this ticket, unless another thread settles it first: collect again to learn
            // which.
            shared.advance(now);
            granted = self.collect(shared, context, not_granted);
        }
        match not_granted {
            NotGranted::Queued(_) if granted.is_none() => Poll::Pending,
            _ => Poll::Ready(granted),
        }
    }

    /// Collects the ticket, or parks the task's waker with it.
    #[inline]
    fn collect(&mut self, shared: &Shared, context: &Context<'_>, not_granted: &mut NotGranted) -> Option<Grant> {
        let AcquireState::Queued { ticket, .. } = self else { unreachable!("the call waits") };
        ticket::poll(shared, ticket, context.waker(), not_granted)
    }

    /// Makes sure that the task is woken at the deadline: by the driver on `home`, by a driver on
    /// the present runtime, or by the call's own timer. A call that has made a timer keeps it.
    fn ensure_wakeup<R: Runtime<Sleep = T>>(
        &mut self,
        deadline: Instant,
        home: Option<NonZeroU64>,
        shared: &Shared,
        runtime: &R,
        context: &mut Context<'_>,
    ) {
        let AcquireState::Queued { ticket: Some(ticket), sleep } = self else { return };
        if sleep.is_none() {
            let here = runtime.home().ok().flatten();
            // Rely on the driver of this runtime only: another runtime may never run again. Outside
            // of all runtimes, there is no better driver than that on `home`.
            if home.is_some() && here.as_ref().is_none_or(|here| home == Some(here.id())) {
                return;
            }
            if here.is_some_and(|here| shared.drive(runtime, &here, deadline, ticket)) {
                return;
            }
        }
        sleep.get_or_insert_with(LazySleep::new).arm(deadline, runtime, context);
    }
}

impl<S: Deref<Target = Shared>, R: Timer> Drop for Acquire<S, R> {
    #[inline]
    fn drop(&mut self) {
        if self.unfinished.is_some() {
            Unfinished::end(&mut self.unfinished);
        }
    }
}

impl<S: Deref<Target = Shared>, R: Timer> Acquire<S, R> {
    pub(crate) fn describe(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &*self.unfinished {
            None => "done",
            Some(Unfinished { state: AcquireState::Queued { .. }, .. }) => "queued",
            Some(_) => "asking",
        };
        let label = self.unfinished.as_ref().map(|unfinished| unfinished.shared.label());
        f.debug_struct(name).field("label", &label).field("state", &state).finish_non_exhaustive()
    }
}

/// A future that acquires a [`Slot`]; returned by [`Bulkhead::slot`](crate::Bulkhead::slot).
///
/// Dropping it gives up its place in the queue, and never loses a slot.
///
/// # Panics
///
/// If polled again after it has completed.
#[must_use = "futures do nothing unless polled"]
pub struct SlotFuture<'a, R: Timer>(Acquire<&'a Shared, R>);

impl<'a, R: Timer> SlotFuture<'a, R> {
    #[inline]
    pub(crate) fn new(acquire: Acquire<&'a Shared, R>) -> Self {
        SlotFuture(acquire)
    }
}

impl<'a, R: Runtime> Future for SlotFuture<'a, R> {
    type Output = Result<Slot<'a>, Rejection>;

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `poll_acquire`")]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_acquire(context).map_ok(Slot::new)
    }
}

impl<R: Timer> fmt::Debug for SlotFuture<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe("SlotFuture", f)
    }
}

/// A future that acquires an [`OwnedSlot`]; returned by
/// [`Bulkhead::slot_owned`](crate::Bulkhead::slot_owned).
///
/// Dropping it gives up its place in the queue, and never loses a slot.
///
/// # Panics
///
/// If polled again after it has completed.
#[must_use = "futures do nothing unless polled"]
pub struct OwnedSlotFuture<R: Timer>(Acquire<Arc<Shared>, R>);

impl<R: Timer> OwnedSlotFuture<R> {
    #[inline]
    pub(crate) fn new(acquire: Acquire<Arc<Shared>, R>) -> Self {
        OwnedSlotFuture(acquire)
    }
}

impl<R: Runtime> Future for OwnedSlotFuture<R> {
    type Output = Result<OwnedSlot, Rejection>;

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `poll_acquire`")]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_acquire(context).map_ok(OwnedSlot::new)
    }
}

impl<R: Timer> fmt::Debug for OwnedSlotFuture<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe("OwnedSlotFuture", f)
    }
}
