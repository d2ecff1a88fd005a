//! The events that a receiver gets, those that are dropped, and the end of the channel.

use std::task::{Poll, Waker};

use bulklink::{EventFilter, EventKind, TryRecvError};
use futures_util::StreamExt;

use super::{kinds, numbers, pass, poll, received, subscribe};
use crate::{bulkhead, call, executor, slot};

use EventKind::{Admitted, Closed, ClosedRejection, Drained, Queued, Released};

#[test]
fn a_receiver_gets_every_transition_in_order() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    let mut events = subscribe(&bulkhead, 100);
    let task = executor.spawn(async move {
        let mut received = vec![];
        while let Some(event) = events.recv().await {
            received.push((event.number, event.kind, event.occupancy.in_flight(), event.occupancy.waiting()));
        }
        received
    });
    let running = slot(&call(&mut executor, &bulkhead));
    let waiting = call(&mut executor, &bulkhead);
    drop(running);
    executor.run_until_idle();
    drop(slot(&waiting));
    executor.run_until_idle();
    assert!(!task.is_finished(), "the channel is open");
    drop((bulkhead, waiting));
    executor.run_until_idle();
    let expected =
        [(1, Admitted, 1, 0), (2, Queued, 1, 1), (3, Released, 0, 1), (4, Admitted, 1, 0), (5, Released, 0, 0)];
    assert_eq!(task.output().expect("the bulkhead is gone"), expected);
}

#[test]
fn a_receiver_is_a_stream() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let events = subscribe(&bulkhead, 100);
    let task = executor.spawn(async move { kinds(&events.collect::<Vec<_>>().await) });
    executor.run_until_idle();
    pass(&bulkhead, 2);
    drop(bulkhead);
    executor.run_until_idle();
    assert_eq!(task.output().expect("the bulkhead is gone"), [Admitted, Released, Admitted, Released]);
}

#[test]
fn a_capacity_of_zero_is_rejected_and_adds_no_handler() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let refused = bulkhead.handle().subscribe(EventFilter::ALL, 0).expect_err("the channel could keep no event");
    assert_eq!((refused.field(), refused.value().to_string().as_str()), ("capacity", "0"));
    assert_eq!(refused.to_string(), "event channel of bulkhead test: capacity must be at least 1, got 0");
    pass(&bulkhead, 1);
    let mut events = subscribe(&bulkhead, usize::MAX);
    pass(&bulkhead, 1);
    assert_eq!(numbers(&received(&mut events)), [1, 2], "no event was recorded before");
}

#[test]
fn a_full_channel_drops_and_counts_the_oldest_events() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let mut events = subscribe(&bulkhead, 3);
    pass(&bulkhead, 1);
    assert_eq!(events.dropped(), 0);
    pass(&bulkhead, 4);
    assert_eq!(events.dropped(), 7);
    assert_eq!(numbers(&received(&mut events)), [8, 9, 10], "the latest events are kept, and the numbers show the gap");
    pass(&bulkhead, 1);
    assert_eq!((events.dropped(), numbers(&received(&mut events))), (7, vec![11, 12]), "there is room again");
    bulkhead.close();
    drop(bulkhead);
    assert_eq!(kinds(&received(&mut events)), [Closed, Drained]);
}

#[test]
fn a_slow_receiver_drops_no_event_of_another() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let (mut slow, mut fast) = (subscribe(&bulkhead, 1), subscribe(&bulkhead, 100));
    pass(&bulkhead, 3);
    assert_eq!((slow.dropped(), fast.dropped()), (5, 0));
    assert_eq!((numbers(&received(&mut slow)), numbers(&received(&mut fast))), (vec![6], vec![1, 2, 3, 4, 5, 6]));
}

#[test]
fn the_channel_ends_with_the_bulkhead_after_its_last_event() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let mut events = subscribe(&bulkhead, 100);
    assert_eq!(events.try_recv(), Err(TryRecvError::Empty));
    let running = bulkhead.owned().try_slot().expect("free");
    bulkhead.close();
    assert_eq!(kinds(&received(&mut events)), [Admitted, Closed]);
    drop(bulkhead);
    assert_eq!(events.try_recv(), Err(TryRecvError::Empty), "a slot keeps it alive");
    drop(running);
    assert_eq!(kinds(&received(&mut events)), [Released, Drained]);
    for _ in 0..2 {
        assert_eq!(events.try_recv(), Err(TryRecvError::Disconnected));
        assert!(poll(&mut events, Waker::noop()) == Poll::Ready(None));
    }
}

/// Drained is not the end of the channel: later calls are rejected, and these events are received.
#[test]
fn the_channel_goes_on_after_drained() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let mut events = subscribe(&bulkhead, 100);
    bulkhead.close();
    assert_eq!(kinds(&received(&mut events)), [Closed, Drained]);
    assert!(bulkhead.try_slot().is_err());
    assert_eq!(kinds(&received(&mut events)), [ClosedRejection]);
}

#[test]
fn a_receiver_does_not_keep_its_bulkhead_alive() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let mut events = subscribe(&bulkhead, 100);
    let clone = bulkhead.clone();
    assert_eq!(events.try_recv(), Err(TryRecvError::Empty));
    drop((bulkhead, clone));
    assert_eq!(events.try_recv(), Err(TryRecvError::Disconnected));
}

/// Events are numbered only while there is a handler.
#[test]
fn dropping_the_receiver_removes_its_handler() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    drop(subscribe(&bulkhead, 100));
    pass(&bulkhead, 5);
    let (mut events, other) = (subscribe(&bulkhead, 100), subscribe(&bulkhead, 100));
    drop(other);
    pass(&bulkhead, 1);
    assert_eq!(
        numbers(&received(&mut events)),
        [1, 2],
        "no event was numbered in between, and the new receiver still gets them"
    );
}

#[test]
fn dropping_the_receiver_after_the_bulkhead_does_nothing() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let events = subscribe(&bulkhead, 1);
    drop(bulkhead);
    drop(events);
}
