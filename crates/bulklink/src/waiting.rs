//! The futures that wait for a slot.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::mem;
use core::ops::Deref;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use bulklink_core::{Grant, Instant, PackedRequest, Request, Ticket};
use pin_project_lite::pin_project;

use crate::shared::{Entered, Shared};
use crate::slot::Hold;
use crate::ticket::{self, Standing};
use crate::{OwnedSlot, Rejection, Slot, Timer};

/// A wait for a slot, however its bulkhead is held. Kept small, as there is one for everyone who waits.
pub(crate) struct Waiting<S: Deref<Target = Shared>, R: Timer> {
    runtime: R,
    /// Gone when the wait is over.
    live: Option<Live<S, R::Sleep>>,
}

struct Live<S, T> {
    shared: S,
    state: State<T>,
}

enum State<T> {
    Asking(PackedRequest),
    /// Its cost is beyond every capacity.
    AskingTooMuch(Box<Request>),
    /// The timer is made when the wait begins, and boxed: most calls never wait, and it is as large as all the rest.
    Queued {
        ticket: Option<Ticket>,
        alarm: Option<Pin<Box<Alarm<T>>>>,
    },
}

pin_project! {
    struct Alarm<T> {
        deadline: Instant,
        #[pin]
        sleep: Option<T>,
    }
}

/// Nothing in it is pinned but what is behind a box.
impl<S: Deref<Target = Shared>, R: Timer> Unpin for Waiting<S, R> {}

impl<S: Deref<Target = Shared>, R: Timer> Waiting<S, R> {
    #[inline]
    pub(crate) fn new(shared: S, runtime: R, request: Request) -> Self {
        let state = match request.pack() {
            Some(packed) => State::Asking(packed),
            None => State::AskingTooMuch(Box::new(request)),
        };
        Waiting { runtime, live: Some(Live { shared, state }) }
    }

    /// All that most calls ever do: small enough to go into the caller's code.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the compiler judges by what the cold path weighs")]
    pub(crate) fn poll_hold(&mut self, context: &mut Context<'_>) -> Poll<Result<Hold<S>, Rejection>> {
        let granted = match &self.live {
            Some(Live { shared, state: State::Asking(request) }) if request.is_simple() => shared.acquire(),
            _ => None,
        };
        let Some(grant) = granted else { return self.poll_slow(context) };
        let Live { shared, state } = self.live.take().expect("just seen");
        // Nothing in it needs to be dropped, but the compiler does not see that.
        mem::forget(state);
        Poll::Ready(Ok(Hold::new(shared, grant)))
    }

    fn poll_slow(&mut self, context: &mut Context<'_>) -> Poll<Result<Hold<S>, Rejection>> {
        let mut rejection = None;
        let grant = ready!(self.poll_gate(context, &mut rejection));
        let Live { shared, state } = self.live.take().expect("polled just now");
        // The rest of the wait is dropped last: a timer is foreign, and the grant is safe by then.
        if let Some(grant) = grant {
            let hold = Hold::new(shared, grant);
            drop(state);
            return Poll::Ready(Ok(hold));
        }
        drop(state);
        Poll::Ready(Err(rejection.expect("not granted")))
    }

    /// A grant, or none where there is a rejection. Those are large and rare, and take a way of their own.
    #[inline(never)]
    fn poll_gate(&mut self, context: &mut Context<'_>, rejection: &mut Option<Rejection>) -> Poll<Option<Grant>> {
        let Live { shared, state } = self.live.as_mut().expect("polled again after it had completed");
        let entered = match state {
            State::Asking(request) => shared.enter(&request.unpack(), context.waker(), rejection),
            State::AskingTooMuch(request) => shared.enter(request, context.waker(), rejection),
            State::Queued { ticket, alarm } => {
                return poll_queued(shared, ticket, alarm, &self.runtime, context, rejection);
            }
        };
        let (ticket, deadline) = match entered {
            Entered::Granted(grant) => return Poll::Ready(Some(grant)),
            Entered::Rejected => return Poll::Ready(None),
            Entered::Queued(ticket, deadline) => (ticket, deadline),
        };
        // Ticket and deadline are kept first: should no timer be made, the next poll makes it, or the future gives all up.
        let alarm = deadline.map(|deadline| Box::pin(Alarm { deadline, sleep: None }));
        *state = State::Queued { ticket: Some(ticket), alarm };
        if let State::Queued { alarm: Some(alarm), .. } = state {
            alarm.as_mut().arm(&self.runtime, context);
        }
        Poll::Pending
    }

    /// Gives the place in the queue up, if there is one.
    #[cold]
    fn withdraw(&mut self) {
        if let Some(Live { shared, state: State::Queued { ticket, .. } }) = &mut self.live {
            if let Some(ticket) = ticket.take() {
                ticket::withdraw(shared, ticket);
            }
        }
    }
}

/// Who is late is for the clock to say: a timer may be held back.
#[inline]
fn poll_queued<R: Timer>(
    shared: &Shared,
    ticket: &mut Option<Ticket>,
    alarm: &mut Option<Pin<Box<Alarm<R::Sleep>>>>,
    runtime: &R,
    context: &mut Context<'_>,
    rejection: &mut Option<Rejection>,
) -> Poll<Option<Grant>> {
    let mut found = None;
    let mut standing = ticket::poll(shared, ticket, context.waker(), &mut found);
    if let (Standing::Waiting, Some(alarm)) = (&standing, alarm) {
        let now = runtime.now();
        if alarm.deadline <= now {
            shared.advance(now);
            standing = ticket::poll(shared, ticket, context.waker(), &mut found);
        } else {
            alarm.as_mut().arm(runtime, context);
        }
    }
    match standing {
        Standing::Granted(grant) => Poll::Ready(Some(grant)),
        Standing::Rejected => {
            *rejection = found.map(|found| shared.rejected(found));
            Poll::Ready(None)
        }
        Standing::Waiting | Standing::Stale => Poll::Pending,
    }
}

impl<T: Future<Output = ()>> Alarm<T> {
    /// Sees to it that the task is woken at the deadline.
    fn arm<R: Timer<Sleep = T>>(self: Pin<&mut Self>, runtime: &R, context: &mut Context<'_>) {
        let mut this = self.project();
        if this.sleep.is_none() {
            this.sleep.set(Some(runtime.sleep_until(*this.deadline)));
        }
        let fired = this.sleep.as_mut().as_pin_mut().is_some_and(|sleep| sleep.poll(context).is_ready());
        if fired {
            // Too early. Others get their turn before it is armed anew, or a timer that always is would spin here.
            this.sleep.set(None);
            context.waker().wake_by_ref();
        }
    }
}

impl<S: Deref<Target = Shared>, R: Timer> Drop for Waiting<S, R> {
    #[inline]
    fn drop(&mut self) {
        if self.live.is_some() {
            self.withdraw();
        }
    }
}

impl<S: Deref<Target = Shared>, R: Timer> Waiting<S, R> {
    fn describe(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.live {
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

impl<'a, R: Timer> Future for SlotFuture<'a, R> {
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

impl<R: Timer> Future for OwnedSlotFuture<R> {
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
