//! The futures that wait for a slot.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::mem::{self, ManuallyDrop};
use core::num::NonZeroU64;
use core::pin::Pin;
use core::task::{Context, Poll, Waker, ready};

use bulklink_core::{Grant, Instant, Request, Ticket};

use crate::acquire::claim::{Claim, Lease, SharedRef};
use crate::acquire::ticket;
use crate::gate::enter::NotGranted;
use crate::gate::shared::{Shared, hint};
use crate::observe::trace::{self, Aside, WaitSpan};
use crate::time::runtime::DynClock;
use crate::{OwnedSlot, Rejection, Runtime, Slot, SubmitError, Timer};

/// A call that acquires a slot; `S` borrows or shares its bulkhead. It is kept small, because each
/// waiting call has one.
pub(crate) struct Acquire<S: SharedRef, R: Timer> {
    runtime: R,
    /// `ManuallyDrop`, so that the drop of a finished call, the usual case, runs no more code than
    /// a test for that.
    call: ManuallyDrop<Call<S, R::Sleep>>,
}

/// The answer to a call that has asked for admission.
pub(crate) enum Asked<S: SharedRef, R: Timer> {
    Granted(Claim<S>),
    Queued(Acquire<S, R>),
}

enum Call<S, T> {
    /// The call asks its bulkhead, and has no answer yet.
    Unfinished(Unfinished<S, T>),
    /// The call got no partition. The first poll counts the rejection and returns it.
    Refused(Box<Rejection>),
    Finished,
}

struct Unfinished<S, T> {
    shared: S,
    state: AcquireState<T>,
}

enum AcquireState<T> {
    /// The next poll enters the gate with this request.
    NotEntered(Request),
    Queued {
        /// `None` while the ticket is collected, and afterwards.
        ticket: Option<Ticket>,
        /// Its own timer, if the call has a deadline and relies on no driver; and the span.
        aside: Aside<T>,
    },
}

/// Only the timer is pinned, and it is boxed.
impl<S: SharedRef, R: Timer> Unpin for Acquire<S, R> {}

impl<S: SharedRef, R: Runtime> Acquire<S, R> {
    #[inline]
    pub(crate) fn new(shared: S, runtime: R, request: Request) -> Self {
        let state = AcquireState::NotEntered(request);
        Acquire { runtime, call: ManuallyDrop::new(Call::Unfinished(Unfinished { shared, state })) }
    }

    /// Asks for admission without a task, before the first poll. Returns the claim; or, if the call
    /// is queued, the call itself, which has no waker and no timer until its first poll.
    pub(crate) fn ask(mut self) -> Result<Asked<S, R>, SubmitError> {
        let Acquire { runtime, call } = &mut self;
        let Call::Unfinished(Unfinished { shared, state }) = &mut **call else { unreachable!("the call is new") };
        let AcquireState::NotEntered(request) = state else { unreachable!("the call is new") };
        let (mut ticket, mut not_granted) = (None, NotGranted::unknown());
        let mut granted = if request.is_simple() { shared.fast.acquire() } else { None };
        if granted.is_none() {
            granted = shared.enter(request, runtime, Waker::noop(), &mut ticket, &mut not_granted)?;
        }
        match not_granted {
            _ if granted.is_some() => Ok(Asked::Granted(Claim::new(self.finish().shared, granted))),
            NotGranted::Rejected(rejection) => {
                trace::rejected(Some(shared), &rejection);
                Err(rejection.into())
            }
            NotGranted::Queued | NotGranted::Timed { .. } => {
                let wait = WaitSpan::begin(shared, request);
                *state = AcquireState::Queued { ticket, aside: Aside::new(wait) };
                Ok(Asked::Queued(self))
            }
        }
    }

    /// Returns the clock of the bulkhead. The call must be unfinished.
    pub(crate) fn clock(&self) -> Arc<dyn DynClock> {
        let Call::Unfinished(Unfinished { shared, .. }) = &*self.call else { unreachable!("the call is new") };
        Arc::clone(&shared.runtime)
    }

    #[cold]
    fn refused(runtime: R, rejection: Rejection) -> Self {
        Acquire { runtime, call: ManuallyDrop::new(Call::Refused(Box::new(rejection))) }
    }

    /// Takes a unit from the word, if the call has not begun and the word offers one.
    #[inline]
    fn take_free(&mut self) -> Option<Claim<S>> {
        let granted = match &*self.call {
            Call::Unfinished(Unfinished { shared, state: AcquireState::NotEntered(request) })
                if request.is_simple() =>
            {
                shared.fast.acquire()
            }
            _ => None,
        };
        granted.as_ref()?;
        let Unfinished { shared, state } = self.finish();
        // The state is a request, which needs no drop, but the compiler does not see that.
        mem::forget(state);
        Some(Claim::new(shared, granted))
    }

    /// Takes a unit from the word, or is rejected by it, if the call has not begun and the word
    /// decides that.
    fn decide(&mut self) -> Option<Result<Claim<S>, Rejection>> {
        if let Some(claim) = self.take_free() {
            return Some(Ok(claim));
        }
        let Call::Unfinished(Unfinished { shared, state: AcquireState::NotEntered(request) }) = &*self.call else {
            return None;
        };
        let rejection = shared.reject(request)?;
        trace::rejected(Some(shared), &rejection);
        // The claim of a call without a grant only ends the lease of its partition.
        drop(Claim::new(self.finish().shared, None));
        Some(Err(rejection))
    }

    /// Takes the call's part of its bulkhead. It must be unfinished.
    #[inline]
    fn finish(&mut self) -> Unfinished<S, R::Sleep> {
        match mem::replace(&mut *self.call, Call::Finished) {
            Call::Unfinished(unfinished) => unfinished,
            // Never so. With code to drop it, the usual case would copy the call to the stack.
            other => {
                mem::forget(other);
                unreachable!("polled just now")
            }
        }
    }

    /// Polls the gate, as far as the runtime's cooperative budget allows.
    #[cold]
    #[inline(never)]
    fn poll_slow(&mut self, context: &mut Context<'_>) -> Poll<Result<Claim<S>, Rejection>> {
        let Acquire { runtime, call } = self;
        let unfinished = match &mut **call {
            Call::Unfinished(unfinished) => Some(unfinished),
            Call::Refused(_) => return self.poll_refused(context),
            Call::Finished => None,
        };
        let unfinished = unfinished.expect("polled again after it had completed");
        let operations = unfinished.shared.operations();
        let mut not_granted = NotGranted::unknown();
        let poll = |context: &mut Context<'_>| unfinished.poll_gate(runtime, context, &mut not_granted);
        let granted = ready!(runtime.cooperate(context, operations, poll));
        let Unfinished { shared, state } = self.finish();
        let is_granted = granted.is_some();
        let mut wait = WaitSpan::NONE;
        let claim = match state {
            AcquireState::Queued { aside: Aside(Some(mut aside)), .. } => {
                wait = trace::take_wait(&mut aside);
                Claim::after(shared, granted, aside)
            }
            // Made where it is returned: it is slow to move.
            _ => Claim::new(shared, granted),
        };
        match not_granted {
            _ if is_granted => {
                wait.admitted(&claim);
                Poll::Ready(Ok(claim))
            }
            NotGranted::Rejected(rejection) => {
                wait.rejected(&rejection);
                trace::rejected(Some(&claim), &rejection);
                Poll::Ready(Err(rejection))
            }
            NotGranted::Queued | NotGranted::Timed { .. } => unreachable!("a call that waits is pending"),
        }
    }

    #[cold]
    fn poll_refused(&mut self, context: &mut Context<'_>) -> Poll<Result<Claim<S>, Rejection>> {
        let Acquire { runtime, call } = self;
        runtime.cooperate(context, 1, |_| match mem::replace(&mut **call, Call::Finished) {
            Call::Refused(rejection) => {
                rejection.count();
                Poll::Ready(Err(*rejection))
            }
            _ => unreachable!("the call is refused"),
        })
    }
}

impl<S: SharedRef, R: Runtime> Future for Acquire<S, R> {
    type Output = Result<Claim<S>, Rejection>;

    /// Polls the call. Most calls get their grant from the word and end here; the others go on in
    /// [`poll_slow`](Acquire::poll_slow), which keeps this small enough to be inlined.
    ///
    /// # Panics
    ///
    /// If called again after it has returned `Ready`.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the compiler would count the cold path and not inline it")]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.take_free() {
            Some(claim) => Poll::Ready(Ok(claim)),
            None => self.poll_slow(context),
        }
    }
}

impl<S: SharedRef, T: Future<Output = ()>> Unfinished<S, T> {
    /// Enters the gate on the first poll, and polls the ticket after that. Returns `None` if the
    /// call is rejected, with the rejection in `not_granted`.
    ///
    /// # Panics
    ///
    /// If the call may have to wait with a limit and its thread has no timer.
    #[inline]
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
        let mut ticket = None;
        match shared.enter(request, runtime, context.waker(), &mut ticket, not_granted) {
            Ok(None) => {}
            Ok(granted) => return Poll::Ready(granted),
            Err(error) => panic!("bulkhead {}: {error}", shared.label()),
        }
        if let NotGranted::Rejected(_) = not_granted {
            return Poll::Ready(None);
        }
        // No panic of a subscriber gets out of this, so the ticket is not lost.
        let wait = WaitSpan::begin(shared, request);
        // Stored before a timer is made: if that panics, the next poll makes the timer, or the drop
        // gives up the ticket.
        *state = AcquireState::Queued { ticket, aside: Aside::new(wait) };
        if let NotGranted::Timed { deadline, due, home } = *not_granted {
            state.ensure_wakeup(due, deadline, home, shared, runtime, context);
        }
        Poll::Pending
    }
}

impl<S: SharedRef, T> Call<S, T> {
    /// Gives up the place in the queue, if the call has one, and the lease. The timer is dropped
    /// last, because it is foreign and may panic.
    #[cold]
    #[inline(never)]
    fn end(&mut self) {
        if let Call::Unfinished(Unfinished { shared, state }) = self {
            // Ended after the rest, also if the clock panics.
            let lease = shared.leased().map(|partition| Lease { shared, partition });
            if let AcquireState::Queued { ticket, aside } = state {
                if let Some(ticket) = ticket.take() {
                    ticket::withdraw(shared, ticket, aside.0.as_mut().map_or(WaitSpan::NONE, trace::take_wait));
                }
            }
            drop(lease);
        }
        *self = Call::Finished;
    }
}

impl<T: Future<Output = ()>> AcquireState<T> {
    /// Collects the ticket. If the call still waits, makes sure that its task is woken at the
    /// deadline.
    #[inline]
    fn poll_ticket<R: Runtime<Sleep = T>>(
        &mut self,
        shared: &Shared,
        runtime: &R,
        context: &mut Context<'_>,
        not_granted: &mut NotGranted,
    ) -> Poll<Option<Grant>> {
        let AcquireState::Queued { ticket, .. } = self else { unreachable!("the call waits") };
        let granted = ticket::poll(shared, ticket, context.waker(), not_granted);
        match *not_granted {
            _ if granted.is_some() => Poll::Ready(granted),
            NotGranted::Rejected(_) => Poll::Ready(None),
            NotGranted::Queued => Poll::Pending,
            NotGranted::Timed { due, .. } => self.wait_on(due, shared, runtime, context, not_granted),
        }
    }

    /// Goes on waiting, or collects the ticket again, if the gate was due to be advanced.
    #[cold]
    #[inline(never)]
    fn wait_on<R: Runtime<Sleep = T>>(
        &mut self,
        due: Instant,
        shared: &Shared,
        runtime: &R,
        context: &mut Context<'_>,
        not_granted: &mut NotGranted,
    ) -> Poll<Option<Grant>> {
        // The clock decides about expiry, not the timer, which may be late or early.
        let now = runtime.now();
        if now >= due {
            // This expires or admits the ticket, or another thread has settled it, or it was
            // another ticket's time: collect it again.
            shared.advance(now);
            let AcquireState::Queued { ticket, .. } = self else { unreachable!("the call waits") };
            let granted = ticket::poll_again(shared, ticket, context.waker(), not_granted);
            if granted.is_some() {
                return Poll::Ready(granted);
            }
        }
        match *not_granted {
            NotGranted::Rejected(_) => return Poll::Ready(None),
            NotGranted::Queued => {}
            NotGranted::Timed { deadline, due, home } => {
                self.ensure_wakeup(due, deadline, home, shared, runtime, context);
            }
        }
        Poll::Pending
    }

    /// Makes sure that the gate is advanced when it is due, by the driver on `home` or by one on
    /// the present runtime; or else that the task is woken at its deadline, by the call's own
    /// timer. A call that has made a timer relies on it to the end.
    fn ensure_wakeup<R: Runtime<Sleep = T>>(
        &mut self,
        due: Instant,
        deadline: Option<Instant>,
        home: Option<NonZeroU64>,
        shared: &Shared,
        runtime: &R,
        context: &mut Context<'_>,
    ) {
        let AcquireState::Queued { ticket: Some(ticket), aside } = self else { return };
        if !aside.has_timer() {
            let here = runtime.home().ok().flatten();
            // Rely on the driver of this runtime only: another runtime may never run again. Outside
            // of all runtimes, there is no better driver than that on `home`.
            if home.is_some() && here.as_ref().is_none_or(|here| home == Some(here.id())) {
                return;
            }
            if here.is_some_and(|here| shared.drive(runtime, &here, due, ticket)) {
                return;
            }
        }
        if let Some(deadline) = deadline {
            aside.arm(deadline, runtime, context);
        }
    }
}

impl<S: SharedRef, R: Timer> Drop for Acquire<S, R> {
    #[inline]
    fn drop(&mut self) {
        if !matches!(*self.call, Call::Finished) {
            self.call.end();
        }
    }
}

impl<S: SharedRef, R: Timer> Acquire<S, R> {
    fn describe(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (label, state) = match &*self.call {
            Call::Unfinished(Unfinished { shared, state }) => {
                let is_queued = matches!(state, AcquireState::Queued { .. });
                (Some(&**shared.label()), if is_queued { "queued" } else { "asking" })
            }
            Call::Refused(rejection) => (Some(rejection.label()), "refused"),
            Call::Finished => (None, "done"),
        };
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

impl<'a, R: Runtime> SlotFuture<'a, R> {
    #[inline]
    pub(crate) fn new(shared: &'a Shared, runtime: R, request: Request) -> Self {
        SlotFuture(Acquire::new(shared, runtime, request))
    }
}

impl<'a, R: Runtime> Future for SlotFuture<'a, R> {
    type Output = Result<Slot<'a>, Rejection>;

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `Acquire::poll`")]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map_ok(Slot::new)
    }
}

impl<R: Timer> fmt::Debug for SlotFuture<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe("SlotFuture", f)
    }
}

/// A future that acquires an [`OwnedSlot`]; returned by
/// [`BoundRequest::slot`](crate::BoundRequest::slot).
///
/// Dropping it gives up its place in the queue, and never loses a slot. A future of a partition has
/// entered it already; dropping the future leaves the partition, too.
///
/// # Panics
///
/// If polled again after it has completed.
#[must_use = "futures do nothing unless polled"]
pub struct OwnedSlotFuture<R: Timer>(Acquire<Arc<Shared>, R>);

impl<R: Runtime> OwnedSlotFuture<R> {
    #[inline]
    pub(crate) fn new(shared: Arc<Shared>, runtime: R, request: Request) -> Self {
        OwnedSlotFuture(Acquire::new(shared, runtime, request))
    }

    /// Makes the future of a call that got no partition.
    pub(crate) fn refused(runtime: R, rejection: Rejection) -> Self {
        OwnedSlotFuture(Acquire::refused(runtime, rejection))
    }

    /// Returns whether its bulkhead has an adaptive limit.
    pub(crate) fn has_adaptive_limit(&self) -> bool {
        matches!(&*self.0.call, Call::Unfinished(call) if call.shared.has(hint::ADAPTIVE))
    }

    /// Takes a unit from the word, or is rejected by it, if the word decides the call.
    #[inline]
    pub(crate) fn decide(&mut self) -> Option<Result<OwnedSlot, Rejection>> {
        self.0.decide().map(|answer| answer.map(OwnedSlot::new))
    }
}

impl<R: Runtime> Future for OwnedSlotFuture<R> {
    type Output = Result<OwnedSlot, Rejection>;

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `Acquire::poll`")]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map_ok(OwnedSlot::new)
    }
}

impl<R: Timer> fmt::Debug for OwnedSlotFuture<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe("OwnedSlotFuture", f)
    }
}
