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

use crate::acquire::slot::Hold;
use crate::acquire::ticket;
use crate::gate::shared::{Answer, Expiry, Shared};
use crate::time::timer::Alarm;
use crate::{OwnedSlot, Rejection, Runtime, Slot, Timer};

pub(crate) use early::Admission;

/// What a call does before it has its slot.
pub(crate) trait PollHold {
    /// The right to run, given back on drop.
    type Hold;

    /// To be polled until it has an answer, and not again.
    fn poll_hold(&mut self, context: &mut Context<'_>) -> Poll<Result<Self::Hold, Rejection>>;
}

/// A wait for a slot, however its bulkhead is held. Kept small, as there is one for everyone who waits.
pub(crate) struct Waiting<S: Deref<Target = Shared>, R: Timer> {
    runtime: R,
    /// Gone when the wait is over. Dropped by hand, so that what most calls drop, which is nothing, is no code.
    live: ManuallyDrop<Option<Live<S, R::Sleep>>>,
}

struct Live<S, T> {
    shared: S,
    state: State<T>,
}

enum State<T> {
    Asking(Request),
    /// With a timer, if it has a deadline and relies on no driver.
    Queued {
        ticket: Option<Ticket>,
        alarm: Option<Alarm<T>>,
    },
}

/// Nothing in it is pinned but what is behind a box.
impl<S: Deref<Target = Shared>, R: Timer> Unpin for Waiting<S, R> {}

impl<S: Deref<Target = Shared>, R: Runtime> Waiting<S, R> {
    #[inline]
    pub(crate) fn new(shared: S, runtime: R, request: Request) -> Self {
        Waiting::of(runtime, Live { shared, state: State::Asking(request) })
    }

    #[inline]
    fn of(runtime: R, live: Live<S, R::Sleep>) -> Self {
        Waiting { runtime, live: ManuallyDrop::new(Some(live)) }
    }
}

impl<S: Deref<Target = Shared>, R: Runtime> PollHold for Waiting<S, R> {
    type Hold = Hold<S>;

    /// All that most calls ever do: small enough to go into the caller's code.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the compiler judges by what the cold path weighs")]
    fn poll_hold(&mut self, context: &mut Context<'_>) -> Poll<Result<Hold<S>, Rejection>> {
        let granted = match &*self.live {
            Some(Live { shared, state: State::Asking(request) }) if request.is_simple() => shared.acquire(),
            _ => None,
        };
        let Some(grant) = granted else { return self.poll_slow(context) };
        let Live { shared, state } = self.live.take().expect("just seen");
        // Nothing in it needs to be dropped, but the compiler does not see that.
        mem::forget(state);
        Poll::Ready(Ok(Hold::new(shared, grant)))
    }
}

impl<S: Deref<Target = Shared>, R: Runtime> Waiting<S, R> {
    #[cold]
    #[inline(never)]
    fn poll_slow(&mut self, context: &mut Context<'_>) -> Poll<Result<Hold<S>, Rejection>> {
        let Waiting { runtime, live } = self;
        let waiting = live.as_mut().expect("polled again after it had completed");
        let operations = waiting.shared.operations();
        let poll = |context: &mut Context<'_>| waiting.poll_gate(runtime, context);
        let outcome = ready!(runtime.cooperate(context, operations, poll));
        let Live { shared, state } = self.live.take().expect("polled just now");
        // The rest of the wait is dropped last: a timer is foreign, and by then the grant is held.
        let outcome = outcome.map(|grant| Hold::new(shared, grant));
        drop(state);
        Poll::Ready(outcome)
    }
}

impl<S: Deref<Target = Shared>, T: Future<Output = ()>> Live<S, T> {
    fn poll_gate<R: Runtime<Sleep = T>>(
        &mut self,
        runtime: &R,
        context: &mut Context<'_>,
    ) -> Poll<Result<Grant, Rejection>> {
        let Live { shared, state } = self;
        let request = match state {
            State::Asking(request) => request,
            State::Queued { .. } => return state.poll_ticket(shared, runtime, context),
        };
        let home = || Ok(runtime.home()?.map(|home| home.id()));
        let mut ticket = None;
        let expiry = match shared.enter(request, context.waker(), home, &mut ticket) {
            Ok(Answer::Granted(grant)) => return Poll::Ready(Ok(grant)),
            Ok(Answer::Rejected(rejection)) => return Poll::Ready(Err(rejection)),
            Ok(Answer::Queued(expiry)) => expiry,
            Err(error) => panic!("bulkhead {}: {error}", shared.label()),
        };
        // Before a timer is made: should that panic, the next poll makes it, or the drop gives the ticket up.
        *state = State::Queued { ticket, alarm: None };
        if let Expiry { deadline: Some(deadline), home: None } = expiry {
            state.watch_the_clock(deadline, None, shared, runtime, context);
        }
        Poll::Pending
    }
}

impl<S: Deref<Target = Shared>, T> Live<S, T> {
    /// Gives the place in the queue up, if there is one. The timer goes after it: it is foreign.
    #[cold]
    #[inline(never)]
    fn end(live: &mut Option<Self>) {
        if let Some(Live { shared, state: State::Queued { ticket, .. } }) = live {
            if let Some(ticket) = ticket.take() {
                ticket::withdraw(shared, ticket);
            }
        }
        *live = None;
    }
}

impl<T: Future<Output = ()>> State<T> {
    #[inline]
    fn poll_ticket<R: Runtime<Sleep = T>>(
        &mut self,
        shared: &Shared,
        runtime: &R,
        context: &mut Context<'_>,
    ) -> Poll<Result<Grant, Rejection>> {
        let mut answer = self.collect(shared, context);
        if let Answer::Queued(Expiry { deadline: Some(deadline), home }) = answer {
            // The clock decides what has expired, not the timer, which may be late.
            let now = runtime.now();
            if now < deadline {
                self.watch_the_clock(deadline, home, shared, runtime, context);
                return Poll::Pending;
            }
            shared.advance(now);
            answer = self.collect(shared, context);
        }
        match answer {
            Answer::Granted(grant) => Poll::Ready(Ok(grant)),
            Answer::Rejected(rejection) => Poll::Ready(Err(rejection)),
            Answer::Queued(_) => Poll::Pending,
        }
    }

    #[inline]
    fn collect(&mut self, shared: &Shared, context: &Context<'_>) -> Answer {
        let State::Queued { ticket, .. } = self else { unreachable!("the call waits") };
        ticket::poll(shared, ticket, context.waker())
    }

    /// Sees to it that the task is woken at the deadline: by the driver on `home`, by one that is here, or by a
    /// timer of its own, where it stays with that.
    fn watch_the_clock<R: Runtime<Sleep = T>>(
        &mut self,
        deadline: Instant,
        home: Option<NonZeroU64>,
        shared: &Shared,
        runtime: &R,
        context: &mut Context<'_>,
    ) {
        let State::Queued { ticket: Some(ticket), alarm } = self else { return };
        if alarm.is_none() {
            let here = runtime.home().ok().flatten();
            // A driver on another runtime than this may never run again. Outside of all runtimes no other
            // would be better.
            if home.is_some() && here.as_ref().is_none_or(|here| home == Some(here.id())) {
                return;
            }
            if here.is_some_and(|here| shared.drive(runtime, &here, deadline, ticket)) {
                return;
            }
        }
        alarm.get_or_insert_with(Alarm::unset).arm(deadline, runtime, context);
    }
}

impl<S: Deref<Target = Shared>, R: Timer> Drop for Waiting<S, R> {
    #[inline]
    fn drop(&mut self) {
        if self.live.is_some() {
            Live::end(&mut self.live);
        }
    }
}

impl<S: Deref<Target = Shared>, R: Timer> Waiting<S, R> {
    pub(crate) fn describe(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &*self.live {
            None => "done",
            Some(Live { state: State::Queued { .. }, .. }) => "queued",
            Some(_) => "asking",
        };
        let label = self.live.as_ref().map(|live| live.shared.label());
        f.debug_struct(name).field("label", &label).field("state", &state).finish_non_exhaustive()
    }
}

/// A call that waits for a [`Slot`]; made by [`Bulkhead::slot`](crate::Bulkhead::slot).
///
/// Dropping it loses the place in the queue, and never a slot.
///
/// # Panics
///
/// If polled again after it has completed.
#[must_use = "futures do nothing unless polled"]
pub struct SlotFuture<'a, R: Timer>(Waiting<&'a Shared, R>);

impl<'a, R: Timer> SlotFuture<'a, R> {
    #[inline]
    pub(crate) fn new(waiting: Waiting<&'a Shared, R>) -> Self {
        SlotFuture(waiting)
    }
}

impl<'a, R: Runtime> Future for SlotFuture<'a, R> {
    type Output = Result<Slot<'a>, Rejection>;

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `poll_hold`")]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_hold(context).map_ok(Slot::new)
    }
}

impl<R: Timer> fmt::Debug for SlotFuture<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe("SlotFuture", f)
    }
}

/// A call that waits for an [`OwnedSlot`]; made by [`Bulkhead::slot_owned`](crate::Bulkhead::slot_owned).
///
/// Dropping it loses the place in the queue, and never a slot.
///
/// # Panics
///
/// If polled again after it has completed.
#[must_use = "futures do nothing unless polled"]
pub struct OwnedSlotFuture<R: Timer>(Waiting<Arc<Shared>, R>);

impl<R: Timer> OwnedSlotFuture<R> {
    #[inline]
    pub(crate) fn new(waiting: Waiting<Arc<Shared>, R>) -> Self {
        OwnedSlotFuture(waiting)
    }
}

impl<R: Runtime> Future for OwnedSlotFuture<R> {
    type Output = Result<OwnedSlot, Rejection>;

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `poll_hold`")]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_hold(context).map_ok(OwnedSlot::new)
    }
}

impl<R: Timer> fmt::Debug for OwnedSlotFuture<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe("OwnedSlotFuture", f)
    }
}
