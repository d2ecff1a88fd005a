//! Events are received while they are delivered, and while either side is dropped.

use std::collections::BTreeSet;

use bulklink::{Bulkhead, Event, EventFilter, EventKind, TryRecvError};
use loom::future::block_on;
use loom::thread;

use crate::model::{model, on_a_thread, use_a_slot};

use EventKind::{Admitted, Released};

fn numbers(events: &[Event]) -> Vec<u64> {
    let mut numbers: Vec<_> = events.iter().map(|event| event.number).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn a_receiver_that_begins_to_wait_misses_no_event() {
    model(1, 0).explore(|bulkhead| {
        let mut events = bulkhead.handle().subscribe(EventFilter::ALL, 2).unwrap();
        let other = on_a_thread(bulkhead, use_a_slot);
        let received = [(); 2].map(|()| block_on(events.recv()).unwrap());
        other.join().unwrap();
        assert_eq!(received.map(|event| (event.number, event.kind)), [(1, Admitted), (2, Released)]);
        assert_eq!((events.try_recv(), events.dropped()), (Err(TryRecvError::Empty), 0));
    });
}

#[test]
fn a_task_that_begins_to_wait_sees_the_end() {
    model(1, 0).preemptions_if_fast(3).explore_in_time(|_, clock| {
        let other = Bulkhead::builder_on(clock.clone(), "other").parallelism(1).build().unwrap();
        let mut events = other.handle().subscribe(EventFilter::ALL, 2).unwrap();
        let end = thread::spawn(move || drop(other.owned().try_slot().unwrap()));
        assert_eq!([(); 2].map(|()| block_on(events.recv()).unwrap().number), [1, 2]);
        assert_eq!(block_on(events.recv()), None);
        end.join().unwrap();
    });
}

#[test]
fn every_event_is_received_or_counted_as_dropped() {
    let dropped = model(2, 0).preemptions(2).explore(|bulkhead| {
        let mut events = bulkhead.handle().subscribe(EventFilter::ALL, 1).unwrap();
        let others = [(); 2].map(|()| on_a_thread(bulkhead, use_a_slot));
        let mut received = vec![block_on(events.recv()).unwrap()];
        for other in others {
            other.join().unwrap();
        }
        received.extend(events.try_recv());
        assert_eq!(received.len() as u64 + events.dropped(), 4);
        assert!(numbers(&received).windows(2).all(|pair| pair[0] < pair[1]), "an event was received twice");
        events.dropped()
    });
    assert_eq!(dropped, BTreeSet::from([2, 3]));
}

#[test]
fn a_receiver_dropped_during_a_delivery_leaves_no_handler() {
    let next = model(1, 0).explore(|bulkhead| {
        let events = bulkhead.handle().subscribe(EventFilter::ALL, 1).unwrap();
        let other = on_a_thread(bulkhead, use_a_slot);
        drop(events);
        other.join().unwrap();
        drop(bulkhead.try_slot().unwrap());
        let mut later = bulkhead.handle().subscribe(EventFilter::ALL, 2).unwrap();
        drop(bulkhead.try_slot().unwrap());
        later.try_recv().unwrap().number
    });
    assert_eq!(next, BTreeSet::from([1, 2, 3]), "no event was recorded after the other thread had ended");
}

#[test]
fn bulkhead_and_receiver_can_be_dropped_at_the_same_time() {
    model(1, 0).explore_in_time(|_, clock| {
        let other = Bulkhead::builder_on(clock.clone(), "other").parallelism(1).build().unwrap();
        let events = other.handle().subscribe(EventFilter::ALL, 1).unwrap();
        let end = thread::spawn(move || drop(other.owned().try_slot().unwrap()));
        drop(events);
        end.join().unwrap();
    });
}
