//! Events for async consumers: a bounded channel, filled by an event handler.

use alloc::collections::VecDeque;
use alloc::sync::{Arc, Weak};
use core::fmt;
use core::future::poll_fn;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use bulklink_core::InvalidArgument;
use futures_core::Stream;

use crate::foreign::{contain, discard};
use crate::gate::lock::Lock;
use crate::gate::shared::Shared;
use crate::time::runtime::DynClock;
use crate::{Event, EventHandler, Handle};

/// Receives the events of one bulkhead, from when it was made, and those that still waited to be delivered then; made by [`Handle::subscribe`].
///
/// It keeps as many events as its capacity says. When one more comes it drops the oldest, and [counts](EventReceiver::dropped) it:
/// the latest events have the figures that still hold, and the last one may be the end. A consumer sees the gap in the
/// [numbers](bulklink_core::Event::number) as well, which have none otherwise.
///
/// Events come in the order in which they happened.
///
/// It does not keep the bulkhead alive, and ends when that is gone: when the last handle, slot and call has been dropped, and what was
/// kept has been received. It does not end with [`Drained`](crate::EventKind::Drained), as those who come later are still turned
/// away, and that is told. Dropping it ends the observation, and all that it costs.
///
/// It is a [`Stream`] too.
pub struct EventReceiver {
    channel: Arc<Channel>,
    bulkhead: Weak<Shared>,
    /// Kept alive by the bulkhead alone, so that it is dropped with that.
    handler: Weak<dyn Fn(&Event) + Send + Sync>,
}

/// No panic can interrupt a change half-way: foreign code never runs inside one.
impl UnwindSafe for EventReceiver {}
impl RefUnwindSafe for EventReceiver {}

/// Why there is no event right now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryRecvError {
    /// None is there; others may come.
    Empty,
    /// The bulkhead is gone, and all its events have been received.
    Disconnected,
}

struct Channel {
    capacity: usize,
    runtime: Arc<dyn DynClock>,
    state: Lock<State>,
}

#[derive(Default)]
struct State {
    events: VecDeque<Event>,
    dropped: u64,
    waker: Option<Waker>,
    is_over: bool,
}

/// The end that the handler holds. It goes with the bulkhead, or with the receiver.
struct Sender(Arc<Channel>);

impl EventReceiver {
    pub(crate) fn new(bulkhead: &Handle, capacity: usize) -> Result<Self, InvalidArgument> {
        if capacity == 0 {
            let invalid = InvalidArgument::new("capacity", capacity, "must be at least 1");
            return Err(invalid.of(format_args!("event channel of bulkhead {}", bulkhead.label())));
        }
        let runtime = Arc::clone(&bulkhead.shared.runtime);
        let channel = Arc::new(Channel { capacity, runtime, state: Lock::new(State::default()) });
        let sender = Sender(Arc::clone(&channel));
        let handler: EventHandler = Arc::new(move |event: &Event| sender.send(event));
        bulkhead.add_event_handler(&handler);
        Ok(EventReceiver { channel, bulkhead: Arc::downgrade(&bulkhead.shared), handler: Arc::downgrade(&handler) })
    }

    /// The next event, as soon as there is one; `None` once the bulkhead is gone and all its events have been received.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses no event.
    ///
    /// # Cooperation
    ///
    /// On tokio an event that is received counts in the task's budget: a loop that always finds one yields to
    /// other tasks.
    pub async fn recv(&mut self) -> Option<Event> {
        poll_fn(|context| self.channel.poll(context)).await
    }

    /// The next event, if there is one.
    ///
    /// # Errors
    ///
    /// [`Empty`](TryRecvError::Empty) if there is none right now, and [`Disconnected`](TryRecvError::Disconnected) if there will be
    /// none any more.
    pub fn try_recv(&mut self) -> Result<Event, TryRecvError> {
        match self.channel.state.with(State::take) {
            Poll::Ready(Some(event)) => Ok(event),
            Poll::Ready(None) => Err(TryRecvError::Disconnected),
            Poll::Pending => Err(TryRecvError::Empty),
        }
    }

    /// How many events were dropped so far, since they were not received in time.
    #[must_use]
    #[doc(alias = "lagged")]
    pub fn dropped(&self) -> u64 {
        self.channel.state.with(|state| state.dropped)
    }
}

impl Stream for EventReceiver {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        self.channel.poll(context)
    }
}

impl Channel {
    fn poll(&self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let mut received = None;
        let mut poll = |context: &mut Context<'_>| self.poll_now(context).map(|event| received = event);
        self.runtime.cooperate(context, &mut poll).map(|()| received)
    }

    /// To look and to leave the waker are one step under the lock, so no event comes in between.
    fn poll_now(&self, context: &Context<'_>) -> Poll<Option<Event>> {
        let looked = self.state.with(|state| match state.take() {
            Poll::Pending if !state.is_watched_by(context.waker()) => None,
            poll => Some(poll),
        });
        looked.unwrap_or_else(|| self.watch(context.waker().clone()))
    }

    fn watch(&self, waker: Waker) -> Poll<Option<Event>> {
        let (poll, displaced) = self.state.with(|state| match state.take() {
            Poll::Pending => (Poll::Pending, state.waker.replace(waker)),
            ready @ Poll::Ready(_) => (ready, Some(waker)),
        });
        discard(displaced);
        poll
    }
}

impl State {
    fn take(&mut self) -> Poll<Option<Event>> {
        match self.events.pop_front() {
            None if !self.is_over => Poll::Pending,
            event => Poll::Ready(event),
        }
    }

    fn is_watched_by(&self, waker: &Waker) -> bool {
        self.waker.as_ref().is_some_and(|watching| watching.will_wake(waker))
    }

    /// Returns what is to be dropped outside the lock.
    fn push(&mut self, event: Event, capacity: usize) -> Option<Event> {
        let dropped = if self.events.len() < capacity { None } else { self.events.pop_front() };
        self.dropped += u64::from(dropped.is_some());
        self.events.push_back(event);
        dropped
    }
}

impl Sender {
    fn send(&self, event: &Event) {
        let (event, capacity) = (event.clone(), self.0.capacity);
        let (waker, _dropped) = self.0.state.with(|state| (state.waker.take(), state.push(event, capacity)));
        wake(waker);
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        wake(self.0.state.with(|state| {
            state.is_over = true;
            state.waker.take()
        }));
    }
}

/// A consumer's waker that panics is not the handler's fault.
fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        contain(|| waker.wake());
    }
}

impl Drop for EventReceiver {
    fn drop(&mut self) {
        discard(self.channel.state.with(|state| state.waker.take()));
        if let (Some(shared), Some(handler)) = (self.bulkhead.upgrade(), self.handler.upgrade()) {
            Handle { shared }.remove_event_handler(&handler);
        }
    }
}

impl fmt::Debug for EventReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kept, dropped, is_over) =
            self.channel.state.with(|state| (state.events.len(), state.dropped, state.is_over));
        f.debug_struct("EventReceiver")
            .field("capacity", &self.channel.capacity)
            .field("kept", &kept)
            .field("dropped", &dropped)
            .field("is_over", &is_over)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TryRecvError::Empty => "no event right now",
            TryRecvError::Disconnected => "the bulkhead is gone, and all its events have been received",
        })
    }
}

impl core::error::Error for TryRecvError {}
