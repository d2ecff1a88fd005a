//! A task polls with another waker while it is being woken.

use std::collections::BTreeSet;
use std::task::Poll;

use bulklink::EventFilter;
use loom::thread;

use crate::call::{Call, CountingWaker};
use crate::model::{model, on_a_thread, use_a_slot};

#[test]
fn a_slot_wakes_the_latest_waker_or_completes_its_poll() {
    let announced = model(1, 1).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let mut call = Call::new(bulkhead).queued();
        let release = thread::spawn(move || drop(held));
        let former = call.change_waker();
        let found = call.poll();
        release.join().unwrap();
        assert_eq!((former.wakes(), call.wakes()), if found.is_ready() { (1, 0) } else { (0, 1) });
        if found.is_pending() {
            drop(call.granted());
            return true;
        }
        false
    });
    assert_eq!(announced, BTreeSet::from([false, true]));
}

#[test]
fn a_task_that_moves_to_another_thread_is_woken_there() {
    // The task changes threads and wakers in the middle of the wait; loom reports it if its last
    // waker is never used.
    model(1, 1).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let mut future = bulkhead.owned().slot();
        assert!(CountingWaker::default().poll(&mut future).is_pending());
        let release = thread::spawn(move || drop(held));
        let moved = thread::spawn(move || drop(loom::future::block_on(future).unwrap()));
        release.join().unwrap();
        moved.join().unwrap();
    });
}

#[test]
fn a_rejection_wakes_the_latest_waker_or_completes_its_poll() {
    let announced = model(1, 1).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let mut call = Call::new(bulkhead).queued();
        let close = on_a_thread(bulkhead, |bulkhead| bulkhead.close());
        let former = call.change_waker();
        let found = call.poll();
        close.join().unwrap();
        assert_eq!((former.wakes(), call.wakes()), if found.is_ready() { (1, 0) } else { (0, 1) });
        drop(held);
        if found.is_pending() {
            assert!(call.answer().is_err());
            return true;
        }
        assert!(matches!(found, Poll::Ready(Err(_))));
        false
    });
    assert_eq!(announced, BTreeSet::from([false, true]));
}

#[test]
fn the_first_of_two_answers_wakes_the_latest_waker() {
    let outcomes = model(1, 1).preemptions_if_fast(3).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let mut call = Call::new(bulkhead).queued();
        let release = thread::spawn(move || drop(held));
        let close = on_a_thread(bulkhead, |bulkhead| bulkhead.close());
        let former = call.change_waker();
        let found = call.poll();
        release.join().unwrap();
        close.join().unwrap();
        assert_eq!((former.wakes(), call.wakes()), if found.is_ready() { (1, 0) } else { (0, 1) });
        match found {
            Poll::Ready(answer) => (true, answer.is_ok()),
            Poll::Pending => (false, call.answer().is_ok()),
        }
    });
    assert_eq!(outcomes, BTreeSet::from([(false, false), (false, true), (true, false), (true, true)]));
}

#[test]
fn the_drain_wakes_the_latest_waker_or_completes_its_poll() {
    let announced = model(1, 0).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let (former, latest, mut closed) =
            (CountingWaker::default(), CountingWaker::default(), bulkhead.close_and_wait());
        assert!(former.poll(&mut closed).is_pending());
        let end = thread::spawn(move || drop(held));
        let found = latest.poll(&mut closed).is_ready();
        end.join().unwrap();
        assert_eq!((former.wakes(), latest.wakes()), if found { (1, 0) } else { (0, 1) });
        assert!(found || latest.poll(&mut closed).is_ready());
        !found
    });
    assert_eq!(announced, BTreeSet::from([false, true]));
}

#[test]
fn an_event_wakes_the_latest_waker_or_completes_its_poll() {
    let announced = model(1, 0).explore(|bulkhead| {
        let mut events = bulkhead.handle().subscribe(EventFilter::ALL, 2).unwrap();
        let (former, latest, mut next) = (CountingWaker::default(), CountingWaker::default(), Box::pin(events.recv()));
        assert!(former.poll(&mut next).is_pending());
        let slot = on_a_thread(bulkhead, use_a_slot);
        let found = latest.poll(&mut next).is_ready();
        slot.join().unwrap();
        assert_eq!((former.wakes(), latest.wakes()), if found { (1, 0) } else { (0, 1) });
        assert!(found || latest.poll(&mut next).is_ready());
        !found
    });
    assert_eq!(announced, BTreeSet::from([false, true]));
}
