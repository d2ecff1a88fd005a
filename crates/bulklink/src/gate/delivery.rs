//! How the events of a bulkhead reach its channels and its handlers, in the order in which they
//! happened.
//!
//! A channel is filled under the lock, by the call that caused the event, or by another that takes
//! the lock before it: no handler delays it. Handlers are foreign code. One thread at a time calls
//! them, outside the lock, and the events of other threads queue meanwhile.
//!
//! The calls that cause events deliver them, each after it has woken all its waiters. A call that
//! delivers goes as far as its own events and a share of others. As many events may queue; a call
//! that adds more waits, until its own have been delivered, or until the call before it has gone as
//! far as it goes: then it takes over. So the queue is bounded, and so is the work of a call for
//! others; and where the queue is not empty, either the thread that delivers goes as far as its
//! end, or another one waits or comes.
//!
//! A call inside of a handler, or of the wakers of another call, neither delivers nor waits. It
//! leaves its events to the outermost call of its thread, which delivers them after that code has
//! returned. So handlers do not recurse, and no thread waits for itself. If very many are queued,
//! its events are dropped and counted.
//!
//! Without the standard library, threads have no identity, and no call waits. The events of a call
//! are dropped and counted if more are queued than the delivering call will deliver.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;
use core::task::Waker;

use bulklink_core::{EventKind, Gate, Instant};

use crate::foreign::{discard, wake};
use crate::gate::patience::{defer, finish, inside, is_inside, may_wait};
use crate::gate::shared::Shared;
use crate::observe::event::{Event, Handlers};

/// The events of others that a call delivers before it hands over. One under loom, where each event
/// multiplies the search.
pub(crate) const SHARE: usize = if cfg!(bulklink_loom) { 1 } else { 64 };

/// The queued events from which on those of calls inside of foreign code are dropped.
const MOST: usize = 1_024;

/// The events for which memory is kept.
pub(crate) const KEPT: usize = 64;

/// The event handlers, under the lock.
#[derive(Default)]
pub(crate) struct Observers {
    handlers: Handlers,
    /// Made for the first event.
    queue: Option<Box<Queue>>,
}

/// The events that handlers have not been called for, and the threads that wait for that.
struct Queue {
    events: VecDeque<bulklink_core::Event>,
    /// Whether a thread has the right to call handlers.
    is_delivering: bool,
    /// The number of the last event of the latest input.
    seen: u64,
    /// How many more events the delivering thread delivers before it hands over.
    left: usize,
    /// How many calls have caused events and come for them later: after they have woken others and
    /// read the clock, or after the foreign code that they are inside of has returned.
    coming: usize,
    /// In the order of their events.
    waiting: VecDeque<Waiting>,
    /// How many threads have waited.
    waited: u64,
    /// The waiting thread that the delivery was handed to, by its id, and how many of its events
    /// are queued.
    successor: Option<(u64, usize)>,
    /// Wakers of threads that wait no longer, to be woken outside the lock.
    released: Vec<Waker>,
    /// Reused from one event to the next, so that an event allocates nothing.
    delivery: Option<Delivery>,
}

/// A thread that waits.
struct Waiting {
    id: u64,
    /// The number of the last of its events that is queued. Others may have the same: the events of
    /// several inputs have those of others in between.
    number: u64,
    events: Events,
    /// The events of others that it delivers, if it takes over.
    share: usize,
    waker: Option<Waker>,
}

/// The numbers of the events of an input, or of several, which the outermost call of a thread
/// delivers. Between those there can be events of others.
#[derive(Clone, Copy)]
pub(crate) struct Events {
    first: u64,
    last: u64,
    pub(crate) count: u32,
}

impl Events {
    pub(super) const NONE: Events = Events { first: 1, last: 0, count: 0 };

    /// Adds events. They can be earlier ones: a call inside of the wakers of another comes first.
    #[cfg(feature = "std")]
    pub(super) fn join(&mut self, others: Events) {
        if others.count > 0 {
            self.first = if self.count > 0 { self.first.min(others.first) } else { others.first };
            self.last = self.last.max(others.last);
            self.count = self.count.saturating_add(others.count);
        }
    }

    fn includes(self, event: &bulklink_core::Event) -> bool {
        (self.first..=self.last).contains(&event.number)
    }
}

/// The next step of a call's thread, after its events are queued.
pub(crate) enum Step {
    /// Nothing: the events have been delivered, or are left to another call.
    Done,
    /// It reads the clock and comes again, because channels want the time of the events.
    Time,
    /// It wakes these receivers, and begins the delivery afterwards.
    Wake(Vec<Waker>),
    /// It calls the handlers, and so many of its own events are queued.
    Deliver(Delivery, usize),
    /// It waits until its events have been delivered, or until it is its turn, by this id.
    Wait(u64),
}

/// The handlers that a change displaces, to be dropped outside the lock. That wakes receivers,
/// and is contained: handlers are foreign, and one of another caller may be among them.
#[must_use = "to be dropped outside the lock"]
pub(crate) struct Displaced {
    wakers: Vec<Waker>,
    handlers: Option<(Handlers, Option<Delivery>)>,
}

impl Drop for Displaced {
    fn drop(&mut self) {
        inside(|| wake(mem::take(&mut self.wakers)));
        discard(self.handlers.take());
        finish();
    }
}

/// An event on its way to the handlers, outside the lock. It is kept and reused, so an event
/// allocates nothing and counts no references.
pub(crate) struct Delivery(Box<(Handlers, Event)>);

impl Observers {
    pub(crate) fn handlers(&self) -> &Handlers {
        &self.handlers
    }

    /// Replaces the handlers, after the events that are still in the gate have gone to the channels
    /// of before: a new one gets no event of the past.
    pub(crate) fn change(&mut self, gate: &mut Gate<Waker>, shared: &Shared, handlers: Handlers) -> Displaced {
        // Of the latest input: the clock is foreign, and this is rare.
        let at = self.handlers.has_channels().then(|| gate.snapshot(None).at);
        let wakers = self.queue_events(gate, shared, Events::NONE, at);
        let obsolete = self.queue.as_mut().and_then(|queue| queue.delivery.take());
        Displaced { wakers, handlers: Some((mem::replace(&mut self.handlers, handlers), obsolete)) }
    }

    /// Returns the events of an input, after which this number was the last.
    #[inline]
    pub(super) fn events_of_input(&mut self, last: u64) -> Events {
        if last == 0 {
            return Events::NONE;
        }
        let queue = self.queue.get_or_insert_with(Queue::new);
        let before = mem::replace(&mut queue.seen, last);
        Events { first: before + 1, last, count: u32::try_from(last - before).unwrap_or(u32::MAX) }
    }

    /// Notes that a call comes for these events later, unless it has none: until then, a thread
    /// that delivers can leave its own to that call.
    #[inline]
    pub(super) fn expect(&mut self, events: Events) {
        if let (true, Some(queue)) = (events.count > 0, &mut self.queue) {
            queue.coming += 1;
        }
    }

    /// Returns whether the events in the gate can be taken only with the time: channels keep it
    /// with each event.
    pub(super) fn needs_time(&self, gate: &Gate<Waker>) -> bool {
        self.handlers.has_channels() && gate.has_output()
    }

    /// Takes the events out of the gate for a call that comes for its own, with the time if
    /// channels want it, and begins the delivery.
    pub(super) fn come(
        &mut self,
        gate: &mut Gate<Waker>,
        shared: &Shared,
        events: Events,
        at: Option<Instant>,
        share: usize,
    ) -> Step {
        if gate.has_output() {
            if at.is_none() && self.needs_time(gate) {
                return Step::Time;
            }
            let wakers = self.queue_events(gate, shared, events, at);
            if !wakers.is_empty() {
                return Step::Wake(wakers);
            }
        }
        self.begin(shared, events, share)
    }

    /// Takes the only event out of the gate, if this thread can deliver it at once: the usual case,
    /// in which an event moves once.
    #[inline]
    pub(super) fn take_only_event(&mut self, gate: &mut Gate<Waker>, events: Events) -> Option<Step> {
        let queue = self.queue.as_mut()?;
        let is_only = events.count == 1 && queue.coming == 0 && queue.events.is_empty();
        if !is_only || queue.is_delivering || self.handlers.has_channels() || is_inside() {
            return None;
        }
        let mut delivery = queue.delivery.take()?;
        if gate.poll_event_into(&mut delivery.0.1.event) && self.handlers.are_called_for(&delivery.0.1) {
            queue.is_delivering = true;
            queue.left = SHARE;
            return Some(Step::Deliver(delivery, 1));
        }
        queue.delivery = Some(delivery);
        Some(Step::Done)
    }

    /// Fills the channels with the gate's events, and queues those that a handler is called for.
    /// Among them are those of a call, or none. Returns the wakers of receivers.
    #[cold]
    pub(super) fn queue_events(
        &mut self,
        gate: &mut Gate<Waker>,
        shared: &Shared,
        own: Events,
        at: Option<Instant>,
    ) -> Vec<Waker> {
        let mut wakers = Vec::new();
        let Some(queue) = &mut self.queue else { return wakers };
        let most = match (is_inside(), may_wait()) {
            (true, _) => MOST,
            (false, false) if queue.is_delivering => queue.left,
            _ => usize::MAX,
        };
        while let Some(event) = gate.poll_event() {
            if let Some(at) = at {
                wakers.extend(self.handlers.send(event, shared.label(), at));
            }
            if !self.handlers.are_called_for(&event) {
                continue;
            }
            if queue.events.len() >= most && own.includes(&event) && !is_last(event.kind) {
                shared.identity().count_dropped_event();
            } else {
                queue.events.push_back(event);
            }
        }
        wakers
    }

    /// Begins the delivery for a call that comes for its events, unless another thread delivers or
    /// the call is inside of foreign code. It delivers its own and at most so many of others, and
    /// then hands over. A call that finds its own delivered already delivers none, unless no other
    /// thread does.
    pub(super) fn begin(&mut self, shared: &Shared, events: Events, share: usize) -> Step {
        let Some(queue) = &mut self.queue else { return Step::Done };
        let own = queue.count(events);
        let is_left = own > 0 || !queue.is_delivering && !queue.events.is_empty();
        let is_deferred = is_left && is_inside();
        if !is_deferred || !shared.this.upgrade().is_some_and(|shared| defer(&shared, events)) {
            queue.coming -= 1;
        }
        if !is_left || is_deferred {
            return Step::Done;
        }
        if !queue.is_delivering {
            queue.is_delivering = true;
            queue.left = own + share;
            return self.next(shared).map_or(Step::Done, |delivery| Step::Deliver(delivery, own));
        }
        if !queue.is_crowded() {
            return Step::Done;
        }
        if !may_wait() {
            queue.drop_beyond_the_rest(events, shared);
            return Step::Done;
        }
        let Some(number) = queue.last_of(events) else { return Step::Done };
        let place = queue.waiting.partition_point(|waiting| waiting.number < number);
        queue.waited += 1;
        queue.waiting.insert(place, Waiting { id: queue.waited, number, events, share, waker: None });
        Step::Wait(queue.waited)
    }

    /// Takes the event after one that was delivered. If the handlers have changed, or there is no
    /// next one, gives back the delivered event, if the caller must drop it outside the lock.
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
        let queue = self.queue.as_mut()?;
        if queue.events.is_empty() {
            queue.is_delivering = false;
            queue.release(u64::MAX);
            queue.trim();
            return None;
        }
        if queue.left == 0 && queue.hand_over() {
            return None;
        }
        if queue.left == 0 && queue.coming > 0 {
            queue.is_delivering = false;
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

    /// Returns how many of its events are queued, if a waiting thread delivers now; `None` if they
    /// have been delivered. If it still waits, returns the place for its waker.
    pub(super) fn turn(&mut self, id: u64) -> Result<Option<usize>, &mut Option<Waker>> {
        let Some(queue) = &mut self.queue else { return Ok(None) };
        if let Some((_, own)) = queue.successor.take_if(|(successor, _)| *successor == id) {
            return Ok(Some(own));
        }
        match queue.waiting.iter_mut().find(|waiting| waiting.id == id) {
            Some(waiting) => Err(&mut waiting.waker),
            None => Ok(None),
        }
    }

    /// Returns whether there are threads that the caller must wake outside the lock.
    #[inline]
    pub(super) fn has_released(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| !queue.released.is_empty())
    }

    pub(super) fn take_released(&mut self) -> Vec<Waker> {
        self.queue.as_mut().map(|queue| mem::take(&mut queue.released)).unwrap_or_default()
    }
}

/// Returns whether it is the last event of its kind, which a bulkhead has once.
fn is_last(kind: EventKind) -> bool {
    matches!(kind, EventKind::Closed | EventKind::Drained)
}

impl Queue {
    #[cold]
    fn new() -> Box<Self> {
        Box::new(Queue {
            events: VecDeque::new(),
            is_delivering: false,
            seen: 0,
            left: 0,
            coming: 0,
            waiting: VecDeque::new(),
            waited: 0,
            successor: None,
            released: Vec::new(),
            delivery: None,
        })
    }

    /// Returns how many of these events are queued.
    fn count(&self, events: Events) -> usize {
        let before = self.events.partition_point(|event| event.number < events.first);
        let queued = self.events.partition_point(|event| event.number <= events.last) - before;
        queued.min(events.count as usize)
    }

    /// Returns the number of the last of these events that is queued.
    fn last_of(&self, events: Events) -> Option<u64> {
        let mut queued = self.events.iter().rev().skip_while(|event| event.number > events.last);
        queued.next().filter(|event| events.includes(event)).map(|event| event.number)
    }

    /// Drops and counts those of these events, the last ones first, that the delivering thread will
    /// not deliver.
    #[cold]
    fn drop_beyond_the_rest(&mut self, events: Events, shared: &Shared) {
        let mut excess = self.events.len().saturating_sub(self.left);
        let mut place = self.events.len();
        while place > 0 && excess > 0 {
            place -= 1;
            if events.includes(&self.events[place]) && !is_last(self.events[place].kind) {
                self.events.remove(place);
                shared.identity().count_dropped_event();
                excess -= 1;
            }
        }
    }

    /// Returns whether the delivering thread will hand over before the last event.
    fn is_crowded(&self) -> bool {
        self.events.len() > self.left
    }

    /// Ends the waits of the threads for events up to this number, which have been delivered.
    #[inline]
    fn release(&mut self, delivered: u64) {
        while self.waiting.front().is_some_and(|first| first.number <= delivered) {
            self.released.extend(self.waiting.pop_front().and_then(|first| first.waker));
        }
    }

    /// Hands the right to deliver to the first thread that waits. Returns whether there is one.
    fn hand_over(&mut self) -> bool {
        let Some(first) = self.waiting.pop_front() else { return false };
        let own = self.count(first.events);
        self.successor = Some((first.id, own));
        self.left = own + first.share;
        self.released.extend(first.waker);
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
        for _ in 0..inside(|| handlers.call(event)) {
            shared.identity().count_handler_panic();
        }
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    const fn events(first: u64, last: u64, count: u32) -> Events {
        Events { first, last, count }
    }

    /// The outer call of two has the earlier events, and leaves them after the inner one.
    #[test]
    fn events_are_joined_in_any_order() {
        for (before, others, joined) in [
            (events(3, 4, 2), events(7, 7, 1), (3, 7, 3)),
            (events(7, 7, 1), events(3, 4, 2), (3, 7, 3)),
            (events(7, 7, 1), Events::NONE, (7, 7, 1)),
            (Events::NONE, events(7, 8, 2), (7, 8, 2)),
        ] {
            let mut events = before;
            events.join(others);
            assert_eq!((events.first, events.last, events.count), joined);
        }
    }
}
