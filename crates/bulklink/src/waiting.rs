//! The futures that wait for a slot.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::ops::Deref;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use bulklink_core::{Grant, Instant, Request, Ticket};

use crate::place::Place;
use crate::shared::{Entered, Shared};
use crate::slot::Hold;
use crate::{OwnedSlot, Rejection, Slot, Timer};

/// A wait for a slot, however its bulkhead is held.
pub(crate) struct Waiting<S: Deref<Target = Shared>, R: Timer> {
    shared: S,
    runtime: R,
    state: State<S, R::Sleep>,
}

enum State<S: Deref<Target = Shared>, T> {
    Asking(Request),
    Queued { place: Place<S>, alarm: Option<Alarm<T>> },
    Done,
}

/// The timer is made when the wait begins, and boxed: most calls never wait, and it is as large as all the rest.
struct Alarm<T> {
    deadline: Instant,
    sleep: Option<Pin<Box<T>>>,
}

/// Nothing in it is pinned but what is behind a box.
impl<S: Deref<Target = Shared>, R: Timer> Unpin for Waiting<S, R> {}

impl<S: Deref<Target = Shared> + Clone, R: Timer> Waiting<S, R> {
    pub(crate) fn new(shared: S, runtime: R, request: Request) -> Self {
        Waiting { shared, runtime, state: State::Asking(request) }
    }

    pub(crate) fn poll_hold(&mut self, context: &mut Context<'_>) -> Poll<Result<Hold<S>, Rejection>> {
        let held = ready!(self.poll_grant(context)).map(|grant| Hold::new(self.shared.clone(), grant));
        // The timer goes here, which is foreign; the grant is safe by now.
        self.state = State::Done;
        Poll::Ready(held)
    }

    fn poll_grant(&mut self, context: &mut Context<'_>) -> Poll<Result<Grant, Rejection>> {
        match &mut self.state {
            State::Asking(request) => match self.shared.enter(request, Some(context.waker()))? {
                Entered::Granted(grant) => return Poll::Ready(Ok(grant)),
                Entered::Queued(ticket, deadline) => self.queue(ticket, deadline),
            },
            State::Queued { place, .. } => {
                if let Poll::Ready(settled) = place.poll(context.waker()) {
                    return Poll::Ready(settled.map_err(|rejection| self.shared.rejected(rejection)));
                }
            }
            State::Done => panic!("polled again after it had completed"),
        }
        self.watch_the_clock(context)
    }

    fn queue(&mut self, ticket: Ticket, deadline: Option<Instant>) {
        let place = Place::new(self.shared.clone(), ticket);
        self.state = State::Queued { place, alarm: deadline.map(|deadline| Alarm { deadline, sleep: None }) };
    }

    /// Sees to it that the task is woken at the deadline. Who is late is for the clock to say: a timer may be held back.
    fn watch_the_clock(&mut self, context: &mut Context<'_>) -> Poll<Result<Grant, Rejection>> {
        let State::Queued { alarm: Some(alarm), .. } = &mut self.state else { return Poll::Pending };
        let now = self.runtime.now();
        if alarm.deadline <= now {
            self.shared.advance(now);
            return self.poll_grant(context);
        }
        let sleep = alarm.sleep.get_or_insert_with(|| Box::pin(self.runtime.sleep_until(alarm.deadline)));
        if sleep.as_mut().poll(context).is_ready() {
            // Too early. Others get their turn before it is armed anew, or a timer that always is would spin here.
            alarm.sleep = None;
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl<S: Deref<Target = Shared>, R: Timer> Waiting<S, R> {
    fn describe(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::Asking(_) => "asking",
            State::Queued { .. } => "queued",
            State::Done => "done",
        };
        f.debug_struct(name).field("label", &self.shared.label).field("state", &state).finish_non_exhaustive()
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
    pub(crate) fn new(waiting: Waiting<&'a Shared, R>) -> Self {
        SlotFuture(waiting)
    }
}

impl<'a, R: Timer> Future for SlotFuture<'a, R> {
    type Output = Result<Slot<'a>, Rejection>;

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
    pub(crate) fn new(waiting: Waiting<Arc<Shared>, R>) -> Self {
        OwnedSlotFuture(waiting)
    }
}

impl<R: Timer> Future for OwnedSlotFuture<R> {
    type Output = Result<OwnedSlot, Rejection>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_hold(context).map_ok(OwnedSlot::new)
    }
}

impl<R: Timer> fmt::Debug for OwnedSlotFuture<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe("OwnedSlotFuture", f)
    }
}
