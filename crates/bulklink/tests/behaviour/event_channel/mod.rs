//! Events for those who await them.

mod receiving;
mod threads;
mod wakers;

use std::task::{Context, Poll, Waker};

use bulklink::{Event, EventKind, EventReceiver};
use futures_util::StreamExt;

use crate::TestBulkhead;

fn subscribe(bulkhead: &TestBulkhead, capacity: usize) -> EventReceiver {
    bulkhead.subscribe(capacity).expect("a capacity")
}

/// Admits and releases so many, one after the other: two events each.
fn pass(bulkhead: &TestBulkhead, calls: usize) {
    (0..calls).for_each(|_| drop(bulkhead.try_slot().expect("free")));
}

/// All that is there.
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
