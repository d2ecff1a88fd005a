//! How the events of a bulkhead reach its channels and its handlers, in the order in which they
//! happened.
//!
//! A channel is filled under the lock, by the input that caused the event or one that comes before
//! its caller does: no handler delays it. Handlers are foreign code. One thread at a time calls
//! them, outside the lock, and the events of other threads queue meanwhile. So a handler that
//! causes events does not recurse.
//!
//! The threads that cause events deliver them. A thread that delivers has its own events, and a
//! share of the others. While it delivers, a share of other events may queue; the threads that add
//! more wait. So does each thread that adds events after the share has been delivered. The first
//! of them takes over, and each other one waits until its own events have been delivered. So the
//! queue is bounded, and a call delivers at most two shares for others.
//!
//! In a handler, and without the standard library, no call can wait. Then a queue that is full
//! drops the events of the input, and counts them.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;
use core::task::Waker;

use bulklink_core::{Gate, Instant};

use crate::gate::outputs::Rest;
use crate::gate::patience;
use crate::gate::shared::Shared;
use crate::observe::event::{Event, Handlers};

/// The events of others that a thread delivers before it hands over, and those that queue before a
/// thread waits. One under loom, where each event multiplies the search.
const SHARE: usize = if cfg!(bulklink_loom) { 1 } else { 32 };

/// The events that queue before one is dropped, where no thread can wait.
const MOST: usize = 1_024;

/// The events for which memory is kept.
const KEPT: usize = 64;

/// The event handlers, under the lock.
#[derive(Default)]
pub(crate) struct Observers {
    handlers: Handlers,
    /// Whether a thread has the right to call handlers.
    is_delivering: bool,
    /// Made for the first event.
    queue: Option<Box<Queue>>,
}

/// The events that handlers have not been called for, and the threads that wait for that.
struct Queue {
    events: VecDeque<bulklink_core::Event>,
    /// How many of the first events the delivering thread has caused, or must deliver before those.
    owned: usize,
    /// How many more events the delivering thread delivers before it hands over.
    left: usize,
    /// In the order of their events.
    waiting: VecDeque<Waiting>,
    /// The waiting thread that the delivery was handed to, by its number.
    successor: Option<u64>,
    /// Wakers of channels and of waiting threads, to be woken outside the lock.
    wakers: Vec<Waker>,
    /// The time of the last event in a channel.
    latest: Instant,
    /// Reused from one event to the next, so that an event allocates nothing.
    delivery: Option<Delivery>,
}

/// A thread that waits.
struct Waiting {
    /// The number of its last event.
    number: u64,
    waker: Option<Waker>,
}

/// What a change of the handlers displaces, to be dropped outside the lock.
pub(crate) type Displaced = (Handlers, Option<Delivery>);

/// An event on its way to the handlers, outside the lock. It is kept and reused, so an event
/// allocates nothing and counts no references.
pub(crate) struct Delivery(Box<(Handlers, Event)>);

impl Observers {
    pub(crate) fn handlers(&self) -> &Handlers {
        &self.handlers
    }

    /// Replaces the handlers.
    pub(crate) fn change(&mut self, handlers: Handlers) -> Displaced {
        let obsolete = self.queue.as_mut().and_then(|queue| queue.delivery.take());
        (mem::replace(&mut self.handlers, handlers), obsolete)
    }

    /// Takes the right to deliver events, unless another thread has it. Returns whether it was
    /// taken.
    #[inline]
    pub(super) fn claim(&mut self) -> bool {
        let is_free = !mem::replace(&mut self.is_delivering, true);
        if let (true, Some(queue)) = (is_free, &mut self.queue) {
            queue.left = SHARE;
        }
        is_free
    }

    /// Returns whether events can be taken out of the gate only with the time: channels keep it
    /// with each event.
    #[inline]
    pub(super) fn needs_time(&self, gate: &Gate<Waker>) -> bool {
        self.handlers.has_channels() && gate.has_output()
    }

    /// Takes the events out of the gate, and returns what this thread does next.
    #[inline]
    pub(super) fn take_events(
        &mut self,
        gate: &mut Gate<Waker>,
        shared: &Shared,
        delivers: bool,
        at: Option<Instant>,
    ) -> Rest {
        let number = if gate.has_output() { self.queue_events(gate, shared, delivers, at) } else { None };
        if delivers {
            return self.next(shared, &mut None);
        }
        match (number, &mut self.queue) {
            (Some(number), Some(queue)) if queue.is_crowded() && patience::may_wait() => {
                queue.waiting.push_back(Waiting { number, waker: None });
                Rest::Wait(number)
            }
            _ => Rest::Nothing,
        }
    }

    /// Fills the channels with the gate's events, and queues those that a handler is called for.
    /// Returns the number of the last one that was queued.
    #[inline]
    fn queue_events(
        &mut self,
        gate: &mut Gate<Waker>,
        shared: &Shared,
        delivers: bool,
        at: Option<Instant>,
    ) -> Option<u64> {
        let queue = self.queue.get_or_insert_with(Queue::new);
        let is_full = queue.events.len() >= MOST && !patience::may_wait();
        // Another thread may have read the clock later and come first.
        queue.latest = at.map_or(queue.latest, |at| at.max(queue.latest));
        let at = at.map(|_| queue.latest);
        let mut last = None;
        while let Some(event) = gate.poll_event() {
            if let Some(at) = at {
                queue.wakers.extend(self.handlers.send(event, shared.label(), at));
            }
            if !self.handlers.are_called_for(&event) {
                continue;
            }
            if is_full {
                shared.identity().count_dropped_event();
                continue;
            }
            last = Some(event.number);
            queue.events.push_back(event);
        }
        if delivers && last.is_some() {
            queue.owned = queue.events.len();
            queue.left = queue.left.max(queue.owned);
        }
        last
    }

    /// Takes the next event for the thread that delivers. If there is none, or if the thread has
    /// done its share and another one waits, it gives up the right to deliver, in the same step
    /// under the lock.
    ///
    /// `delivered` is the event before. It is taken to be kept, unless the handlers have changed:
    /// then the caller must drop it, outside the lock.
    #[inline]
    pub(super) fn next(&mut self, shared: &Shared, delivered: &mut Option<Delivery>) -> Rest {
        let Some(queue) = &mut self.queue else {
            self.is_delivering = false;
            return Rest::Nothing;
        };
        if let Some(Delivery(before)) = delivered {
            queue.release(before.1.number);
            if self.handlers.is(&before.0) {
                queue.delivery = delivered.take();
            }
        }
        if queue.left == 0 && queue.hand_over() {
            return Rest::Nothing;
        }
        match queue.events.pop_front() {
            Some(event) => {
                queue.owned = queue.owned.saturating_sub(1);
                queue.left = queue.left.saturating_sub(1);
                Rest::Deliver(match queue.delivery.take() {
                    Some(mut delivery) => {
                        delivery.0.1.event = event;
                        delivery
                    }
                    None => Delivery::new(&self.handlers, event, shared),
                })
            }
            None => {
                self.is_delivering = false;
                queue.release(u64::MAX);
                queue.trim();
                Rest::Nothing
            }
        }
    }

    /// Returns whether a waiting thread delivers now; not if its events have been delivered. If it
    /// still waits, returns the place for its waker.
    pub(super) fn turn(&mut self, number: u64) -> Result<bool, &mut Option<Waker>> {
        let Some(queue) = &mut self.queue else { return Ok(false) };
        if queue.successor == Some(number) {
            queue.successor = None;
            return Ok(true);
        }
        match queue.waiting.iter_mut().find(|waiting| waiting.number == number) {
            Some(waiting) => Err(&mut waiting.waker),
            None => Ok(false),
        }
    }

    /// Takes the wakers that the caller must wake outside the lock.
    #[inline]
    pub(super) fn take_wakers(&mut self) -> Vec<Waker> {
        self.queue.as_mut().map(|queue| mem::take(&mut queue.wakers)).unwrap_or_default()
    }
}

impl Queue {
    #[cold]
    fn new() -> Box<Self> {
        Box::new(Queue {
            events: VecDeque::new(),
            owned: 0,
            left: SHARE,
            waiting: VecDeque::new(),
            successor: None,
            wakers: Vec::new(),
            latest: Instant::EPOCH,
            delivery: None,
        })
    }

    /// Returns whether a thread that adds events must wait.
    fn is_crowded(&self) -> bool {
        self.left == 0 || self.events.len() - self.owned > SHARE
    }

    /// Ends the waits of the threads whose events have been delivered up to this number.
    #[inline]
    fn release(&mut self, delivered: u64) {
        while self.waiting.front().is_some_and(|first| first.number <= delivered) {
            self.wakers.extend(self.waiting.pop_front().and_then(|first| first.waker));
        }
    }

    /// Hands the right to deliver to the first thread that waits. Returns whether there is one.
    fn hand_over(&mut self) -> bool {
        let Some(first) = self.waiting.pop_front() else { return false };
        self.successor = Some(first.number);
        self.owned = self.events.partition_point(|event| event.number <= first.number);
        self.left = self.owned.max(SHARE);
        self.wakers.extend(first.waker);
        true
    }

    /// Gives back the memory of a burst.
    #[inline]
    fn trim(&mut self) {
        if self.events.capacity() > KEPT {
            self.events = VecDeque::new();
        }
    }
}

impl Delivery {
    #[cold]
    fn new(handlers: &Handlers, event: bulklink_core::Event, shared: &Shared) -> Delivery {
        let event = Event::new(Arc::clone(shared.label()), event, Arc::clone(&shared.runtime));
        Delivery(Box::new((handlers.clone(), event)))
    }

    #[inline]
    pub(super) fn call_handlers(&mut self, shared: &Shared) {
        let (handlers, event) = &*self.0;
        for _ in 0..handlers.call(event) {
            shared.identity().count_handler_panic();
        }
    }
}
