//! How the events of a bulkhead reach its channels and its handlers, in the order in which they
//! happened.
//!
//! A channel is filled under the lock, by the input that caused the event or one that comes before
//! its caller does: no handler delays it. Handlers are foreign code. One thread at a time calls
//! them, outside the lock, and the events of other threads queue meanwhile. So a handler that
//! causes events does not recurse.
//!
//! The threads that cause events deliver them. A thread that delivers goes as far as its own events
//! and a share of others. As many events may queue; a thread that adds more waits, until its own
//! have been delivered, or until the thread before it has gone as far as it goes: then it takes
//! over. So the queue is bounded, and so is what a call does for others; and where the queue is not
//! empty, either the thread that delivers goes as far as its end, or another one waits.
//!
//! In a handler, a waker or a clock, and without the standard library, no call can wait. Its events
//! are dropped and counted if more are queued than the delivering thread will deliver; or, if it is
//! that thread, if very many are.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;
use core::task::Waker;

use bulklink_core::{Gate, Instant};

use crate::gate::outputs::{Events, Rest};
use crate::gate::patience::{self, without_waiting};
use crate::gate::shared::Shared;
use crate::observe::event::{Event, Handlers};

/// The events of others that a thread delivers before it hands over. One under loom, where each
/// event multiplies the search.
const SHARE: usize = if cfg!(bulklink_loom) { 1 } else { 64 };

/// The events that the delivering thread itself may have queued, as its handlers cause them.
const MOST: usize = 1_024;

/// The delivering thread until a successor has taken over.
const NO_THREAD: usize = usize::MAX;

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
    /// The number of the last event of the latest input.
    seen: u64,
    /// How many more events the delivering thread delivers before it hands over.
    left: usize,
    /// The delivering thread.
    thread: usize,
    /// How many threads have caused events and still wake others, or read the clock.
    expected: usize,
    /// In the order of their events.
    waiting: VecDeque<Waiting>,
    /// The waiting thread that the delivery was handed to, by its number.
    successor: Option<u64>,
    /// Wakers of channels and of waiting threads, to be woken outside the lock.
    wakers: Vec<Waker>,
    /// Reused from one event to the next, so that an event allocates nothing.
    delivery: Option<Delivery>,
}

/// A thread that waits.
struct Waiting {
    /// The number of its last event.
    number: u64,
    /// How many events it has caused.
    count: u32,
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

    /// Returns the events of an input, after which this number was the last.
    #[inline]
    pub(super) fn events_of_input(&mut self, last: u64) -> Events {
        if last == 0 {
            return Events { last, count: 0, delivers: false };
        }
        let queue = self.queue.get_or_insert_with(Queue::new);
        let count = last - mem::replace(&mut queue.seen, last);
        Events { last, count: u32::try_from(count).unwrap_or(u32::MAX), delivers: false }
    }

    /// Takes the right to deliver for the thread with these events, unless another thread has it.
    #[inline]
    pub(super) fn claim_for(&mut self, events: &mut Events) {
        if events.delivers || mem::replace(&mut self.is_delivering, true) {
            return;
        }
        self.expect(*events, false);
        events.delivers = true;
        if let Some(queue) = &mut self.queue {
            queue.begin(events.count);
        }
    }

    /// Notes that a thread has something else to do before it takes the events, or that it has done
    /// that: until then, the thread that delivers can leave them to this one.
    #[inline]
    pub(super) fn expect(&mut self, events: Events, is_expected: bool) {
        if let (false, Some(queue)) = (events.delivers || events.count == 0, &mut self.queue) {
            queue.expected = if is_expected { queue.expected + 1 } else { queue.expected - 1 };
        }
    }

    /// Returns whether events can be taken out of the gate only with the time: channels keep it
    /// with each event.
    #[inline]
    pub(super) fn needs_time(&self, gate: &Gate<Waker>) -> bool {
        self.handlers.has_channels() && gate.has_output()
    }

    /// Takes the only event out of the gate, if this thread can deliver it at once: the usual case,
    /// in which an event moves once.
    #[inline]
    pub(super) fn take_only_event(&mut self, gate: &mut Gate<Waker>, count: u32) -> Option<Delivery> {
        let queue = self.queue.as_mut()?;
        if self.is_delivering || count != 1 || !queue.events.is_empty() || self.handlers.has_channels() {
            return None;
        }
        let mut delivery = queue.delivery.take()?;
        if gate.poll_event_into(&mut delivery.0.1.event) && self.handlers.are_called_for(&delivery.0.1) {
            self.is_delivering = true;
            queue.begin(0);
            return Some(delivery);
        }
        queue.delivery = Some(delivery);
        None
    }

    /// Takes the events out of the gate, and returns what this thread does next.
    #[inline]
    pub(super) fn take_events(
        &mut self,
        gate: &mut Gate<Waker>,
        shared: &Shared,
        events: Events,
        at: Option<Instant>,
    ) -> Rest {
        if gate.has_output() {
            self.queue_events(gate, shared, events, at);
        }
        if events.delivers {
            return self.next(shared).map_or(Rest::Nothing, Rest::Deliver);
        }
        match &mut self.queue {
            Some(queue) if queue.is_crowded() && queue.has_any_of(events) && patience::may_wait() => {
                let Events { last: number, count, .. } = events;
                let place = queue.waiting.partition_point(|waiting| waiting.number < number);
                queue.waiting.insert(place, Waiting { number, count, waker: None });
                Rest::Wait(number)
            }
            _ => Rest::Nothing,
        }
    }

    /// Fills the channels with the gate's events, and queues those that a handler is called for.
    #[cold]
    fn queue_events(&mut self, gate: &mut Gate<Waker>, shared: &Shared, events: Events, at: Option<Instant>) {
        let Some(queue) = &mut self.queue else { return };
        let is_full = !events.delivers && queue.is_full() && !patience::may_wait();
        while let Some(event) = gate.poll_event() {
            if let Some(at) = at {
                queue.wakers.extend(self.handlers.send(event, shared.label(), at));
            }
            if !self.handlers.are_called_for(&event) {
                continue;
            }
            if is_full {
                shared.identity().count_dropped_event();
            } else {
                queue.events.push_back(event);
            }
        }
    }

    /// Takes the event after one that was delivered. If the handlers have changed, or there is no
    /// next one, gives back what was delivered, if the caller must drop it outside the lock.
    #[inline]
    pub(super) fn after(&mut self, delivered: Delivery, shared: &Shared) -> (Option<Delivery>, Option<Delivery>) {
        let Some(queue) = &mut self.queue else { return (None, Some(delivered)) };
        queue.release(delivered.0.1.number);
        if !self.handlers.is(&delivered.0.0) {
            return (self.next(shared), Some(delivered));
        }
        queue.delivery = Some(delivered);
        (self.next(shared), None)
    }

    /// Takes the next event for the thread that delivers. If there is none, or if the thread has
    /// done its share and another one comes, it gives up the right to deliver, in the same step
    /// under the lock.
    #[inline]
    pub(super) fn next(&mut self, shared: &Shared) -> Option<Delivery> {
        let Some(queue) = &mut self.queue else {
            self.is_delivering = false;
            return None;
        };
        if queue.events.is_empty() {
            self.is_delivering = false;
            queue.release(u64::MAX);
            queue.trim();
            return None;
        }
        if queue.left == 0 && queue.hand_over() {
            return None;
        }
        if queue.left == 0 && queue.expected > 0 {
            self.is_delivering = false;
            return None;
        }
        let event = queue.events.pop_front()?;
        queue.left = queue.left.saturating_sub(1);
        Some(match queue.delivery.take() {
            Some(mut delivery) => {
                delivery.0.1.event = event;
                delivery
            }
            None => Delivery::new(&self.handlers, event, shared),
        })
    }

    /// Returns whether a waiting thread delivers now; not if its events have been delivered. If it
    /// still waits, returns the place for its waker.
    pub(super) fn turn(&mut self, number: u64) -> Result<bool, &mut Option<Waker>> {
        let Some(queue) = &mut self.queue else { return Ok(false) };
        if queue.successor == Some(number) {
            queue.successor = None;
            queue.thread = patience::this_thread();
            return Ok(true);
        }
        match queue.waiting.binary_search_by_key(&number, |waiting| waiting.number) {
            Ok(place) => Err(&mut queue.waiting[place].waker),
            Err(_) => Ok(false),
        }
    }

    /// Returns whether there are wakers that the caller must take and wake outside the lock.
    #[inline]
    pub(super) fn has_wakers(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| !queue.wakers.is_empty())
    }

    pub(super) fn take_wakers(&mut self) -> Vec<Waker> {
        self.queue.as_mut().map(|queue| mem::take(&mut queue.wakers)).unwrap_or_default()
    }
}

impl Queue {
    #[cold]
    fn new() -> Box<Self> {
        Box::new(Queue {
            events: VecDeque::new(),
            seen: 0,
            left: SHARE,
            thread: patience::this_thread(),
            expected: 0,
            waiting: VecDeque::new(),
            successor: None,
            wakers: Vec::new(),
            delivery: None,
        })
    }

    /// Begins the delivery by this thread, which has caused so many events.
    #[inline]
    fn begin(&mut self, count: u32) {
        self.left = count as usize + SHARE;
        self.thread = patience::this_thread();
    }

    /// Returns whether the delivering thread will hand over before the last event.
    #[inline]
    fn is_crowded(&self) -> bool {
        self.events.len() > self.left
    }

    /// Returns whether the events of a thread that cannot wait are dropped.
    fn is_full(&self) -> bool {
        self.events.len() >= if self.thread == patience::this_thread() { MOST } else { self.left }
    }

    /// Returns whether any of these events is queued.
    fn has_any_of(&self, events: Events) -> bool {
        let first = self.events.partition_point(|event| event.number <= events.last - u64::from(events.count));
        self.events.get(first).is_some_and(|event| event.number <= events.last)
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
        self.left = first.count as usize + SHARE;
        self.thread = NO_THREAD;
        self.wakers.extend(first.waker);
        true
    }

    /// Gives back the memory of a burst.
    #[inline]
    fn trim(&mut self) {
        if self.events.capacity() > KEPT {
            self.events = VecDeque::new();
        }
        if self.waiting.capacity() > KEPT {
            self.waiting = VecDeque::new();
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
        for _ in 0..without_waiting(|| handlers.call(event)) {
            shared.identity().count_handler_panic();
        }
    }
}
