//! The event channel: events for async consumers.

mod receiving;
mod threads;
mod wakers;

use std::task::{Context, Poll, Waker};

use bulklink::{Event, EventFilter, EventKind, EventReceiver};
use futures_util::StreamExt;

use crate::TestBulkhead;

fn subscribe(bulkhead: &TestBulkhead, capacity: usize) -> EventReceiver {
    bulkhead.handle().subscribe(EventFilter::ALL, capacity).expect("a capacity")
}

/// Makes this many calls one after the other, with two events each: admitted and released.
fn pass(bulkhead: &TestBulkhead, calls: usize) {
    (0..calls).for_each(|_| drop(bulkhead.try_slot().expect("free")));
}

/// Returns all events that are in the channel.
fn received(events: &mut EventReceiver) -> Vec<Event> {
    std::iter::from_fn(|| events.try_recv().ok()).collect()
}

fn kinds(events: &[Event]) -> Vec<EventKind> {
    events.iter().map(|event| event.kind).collect()
}

fn numbers(events: &[Event]) -> Vec<u64> {
    events.iter().map(|event| event.number).collect()
}

fn poll(events: &mut EventReceiver, waker: &Waker) -> Poll<Option<EventKind>> {
    let poll = events.poll_next_unpin(&mut Context::from_waker(waker));
    poll.map(|event| event.map(|event| event.kind))
}
