//! Events for async consumers: a bounded channel, filled by an event handler.

use alloc::collections::VecDeque;
use alloc::sync::{Arc, Weak};
use core::fmt;
use core::future::poll_fn;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use bulklink_core::{EventFilter, Instant, InvalidArgument};
use futures_core::Stream;

use crate::foreign::{discard, wake};
use crate::gate::delivery::KEPT;
use crate::gate::lock::Lock;
use crate::gate::park::look_or_park;
use crate::gate::shared::Shared;
use crate::observe::event::Handler;
use crate::time::runtime::DynClock;
use crate::{Event, HandlerId};

/// Receives the events of one bulkhead, in the order in which they happened, or of all partitions;
/// made by [`Handle::subscribe`](crate::Handle::subscribe) and
/// [`partitions::Handle::subscribe`](crate::partitions::Handle::subscribe).
///
/// It receives the events that happen after it was made: each is in the channel before the call
/// that caused it returns, whatever event handlers do meanwhile. An event has the
/// [time](Event::at) at which it was put there.
///
/// It keeps as many events as its capacity. When one more comes, it drops the oldest one and
/// [counts](EventReceiver::dropped) it, because the latest events have the current figures, and the
/// last one may be the end. A consumer of all events also sees the gap in the
/// [numbers](bulklink_core::Event::number), which have no gaps otherwise.
///
/// It does not keep the bulkhead alive. It ends when the last handle, slot and call has been
/// dropped and all kept events have been received. It does not end with
/// [`Drained`](crate::EventKind::Drained), because calls that come later are still rejected, and
/// those rejections are events too. Dropping the receiver removes its handler, and all of its cost.
///
/// It is also a [`Stream`](https://docs.rs/futures-core/0.3/futures_core/stream/trait.Stream.html).
pub struct EventReceiver {
    channel: Arc<Lock<Channel>>,
    runtime: Arc<dyn DynClock>,
    source: Weak<dyn EventSource>,
    handler: HandlerId,
}

/// No panic can interrupt a change half-way: foreign code never runs inside one.
impl UnwindSafe for EventReceiver {}
impl RefUnwindSafe for EventReceiver {}

/// The reason why there is no event now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryRecvError {
    /// No event is kept now. Others may come.
    Empty,
    /// The bulkhead has been dropped, and all its events have been received.
    Disconnected,
}

/// What causes events: a bulkhead, or all partitions together.
pub(crate) trait EventSource: Send + Sync {
    fn add(&self, handler: &Handler);
    fn remove(&self, handler: HandlerId);
}

impl EventSource for Shared {
    fn add(&self, handler: &Handler) {
        self.change_handlers(|handlers| Some(handlers.with(handler)));
    }

    fn remove(&self, handler: HandlerId) {
        self.change_handlers(|handlers| handlers.without(handler));
    }
}

struct Channel {
    capacity: usize,
    events: VecDeque<Event>,
    dropped: u64,
    /// The time of the last event.
    latest: Instant,
    waker: Option<Waker>,
    is_over: bool,
}

/// The side of the event handler. It is dropped together with the bulkhead or the receiver.
pub(crate) struct Sender(Arc<Lock<Channel>>);

impl EventReceiver {
    pub(crate) fn new(
        owner: impl fmt::Display,
        filter: EventFilter,
        capacity: usize,
        runtime: Arc<dyn DynClock>,
        source: Weak<dyn EventSource>,
    ) -> Result<Self, InvalidArgument> {
        if capacity == 0 {
            let invalid = InvalidArgument::new("capacity", capacity, "must be at least 1");
            return Err(invalid.of(format_args!("event channel of {owner}")));
        }
        let channel = Channel {
            capacity,
            events: VecDeque::new(),
            dropped: 0,
            latest: Instant::EPOCH,
            waker: None,
            is_over: false,
        };
        let channel = Arc::new(Lock::new(channel));
        let sender = Sender(Arc::clone(&channel));
        let handler = Handler::channel(filter, sender);
        if let Some(source) = source.upgrade() {
            source.add(&handler);
        }
        Ok(EventReceiver { channel, runtime, source, handler: handler.id() })
    }

    /// Waits for the next event. Returns `None` once the bulkhead has been dropped and all its
    /// events have been received.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses no event.
    ///
    /// # Cooperation
    ///
    /// On tokio each event counts in the budget of the task: a loop that always finds one yields to
    /// other tasks.
    pub async fn recv(&mut self) -> Option<Event> {
        poll_fn(|context| self.poll(context)).await
    }

    /// Returns the next event, if there is one.
    ///
    /// # Errors
    ///
    /// [`Empty`](TryRecvError::Empty) if there is no event now, and
    /// [`Disconnected`](TryRecvError::Disconnected) if there will never be another one.
    pub fn try_recv(&mut self) -> Result<Event, TryRecvError> {
        self.channel.with(|channel| match channel.take() {
            Ok(Some(event)) => Ok(event),
            Ok(None) => Err(TryRecvError::Disconnected),
            Err(_) => Err(TryRecvError::Empty),
        })
    }

    /// Returns how many events were dropped because they were not received in time.
    #[must_use]
    #[doc(alias = "lagged")]
    pub fn dropped(&self) -> u64 {
        self.channel.with(|channel| channel.dropped)
    }

    fn poll(&self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let mut received = None;
        let mut poll = |context: &mut Context<'_>| {
            look_or_park(&self.channel, context.waker(), Channel::take).map(|event| received = event)
        };
        self.runtime.cooperate(context, &mut poll).map(|()| received)
    }
}

impl Stream for EventReceiver {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        self.poll(context)
    }
}

impl Channel {
    /// Takes the next event, or `None` at the end of the bulkhead. Otherwise returns the place for
    /// the waker of the consumer, which waits for either.
    fn take(&mut self) -> Result<Option<Event>, &mut Option<Waker>> {
        let event = self.events.pop_front();
        // Gives back the memory of a burst.
        if self.events.is_empty() && self.events.capacity() > KEPT {
            self.events = VecDeque::new();
        }
        match event {
            None if !self.is_over => Err(&mut self.waker),
            event => Ok(event),
        }
    }

    fn push(&mut self, mut event: Event) {
        // Of two threads, the one that has read the clock later may come first.
        self.latest = self.latest.max(event.at());
        event.set_time(self.latest);
        if self.events.len() == self.capacity {
            self.events.pop_front();
            self.dropped += 1;
        }
        self.events.push_back(event);
    }
}

impl Sender {
    /// Keeps the event for the receiver. Returns its waker, if it waits. Runs no foreign code, as
    /// it is called under the lock of the bulkhead.
    pub(crate) fn send(&self, event: Event) -> Option<Waker> {
        self.0.with(|channel| {
            channel.push(event);
            channel.waker.take()
        })
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        wake(self.0.with(|channel| {
            channel.is_over = true;
            channel.waker.take()
        }));
    }
}

impl Drop for EventReceiver {
    fn drop(&mut self) {
        discard(self.channel.with(|channel| channel.waker.take()));
        if let Some(source) = self.source.upgrade() {
            source.remove(self.handler);
        }
    }
}

impl fmt::Debug for EventReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (capacity, kept, dropped, is_over) =
            self.channel.with(|channel| (channel.capacity, channel.events.len(), channel.dropped, channel.is_over));
        f.debug_struct("EventReceiver")
            .field("capacity", &capacity)
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
