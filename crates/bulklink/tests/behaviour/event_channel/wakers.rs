//! A task that waits for an event is woken outside every lock, and loses no event.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};

use bulklink::EventKind::{Admitted, Released};

use super::{kinds, numbers, pass, poll, received, subscribe};
use crate::{CountingWaker, TestBulkhead, bulkhead, executor};

#[test]
fn only_the_last_waker_is_woken_once() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let mut events = subscribe(&bulkhead, 100);
    let counters: [Arc<CountingWaker>; 2] = Default::default();
    let wakers = counters.clone().map(Waker::from);
    for waker in [&wakers[0], &wakers[1], &wakers[1]] {
        assert!(poll(&mut events, waker).is_pending());
    }
    assert_eq!(counters.each_ref().map(Arc::strong_count), [2, 3], "one waker is kept");
    pass(&bulkhead, 1);
    assert_eq!(counters.each_ref().map(|counter| counter.wakes()), [0, 1]);
    assert_eq!(poll(&mut events, &wakers[1]), Poll::Ready(Some(Admitted)));
    assert_eq!(poll(&mut events, &wakers[1]), Poll::Ready(Some(Released)));
    assert!(poll(&mut events, &wakers[0]).is_pending());
    drop(events);
    assert_eq!(counters.each_ref().map(Arc::strong_count), [2, 2], "no waker is left");
    drop(bulkhead);
    assert_eq!(counters.each_ref().map(|counter| counter.wakes()), [0, 1]);
}

#[test]
fn the_end_of_the_channel_wakes_its_receiver() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let mut events = subscribe(&bulkhead, 100);
    let counter = Arc::new(CountingWaker::default());
    assert!(poll(&mut events, &Waker::from(Arc::clone(&counter))).is_pending());
    drop(bulkhead);
    assert_eq!(counter.wakes(), 1);
}

#[test]
fn a_wait_that_is_dropped_loses_no_event() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let mut events = subscribe(&bulkhead, 100);
    assert!(pin!(events.recv()).poll(&mut Context::from_waker(Waker::noop())).is_pending());
    pass(&bulkhead, 1);
    drop(events.recv());
    assert_eq!(kinds(&received(&mut events)), [Admitted, Released]);
}

#[test]
fn a_waker_that_panics_loses_no_event() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let (mut events, mut others) = (subscribe(&bulkhead, 100), subscribe(&bulkhead, 100));
    assert!(
        poll(&mut events, &Waker::from(Arc::new(CountingWaker { panics: true, ..CountingWaker::default() })))
            .is_pending()
    );
    pass(&bulkhead, 1);
    assert_eq!(bulkhead.status().handler_panics, 0);
    assert_eq!(kinds(&received(&mut events)), [Admitted, Released]);
    assert_eq!(kinds(&received(&mut others)), [Admitted, Released]);
}

#[test]
fn a_waker_that_panics_when_dropped_loses_no_event() {
    struct Bad;
    impl Wake for Bad {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for Bad {
        fn drop(&mut self) {
            panic!("a waker that panics when dropped, on purpose");
        }
    }
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let mut events = subscribe(&bulkhead, 100);
    assert!(poll(&mut events, &Waker::from(Arc::new(Bad))).is_pending());
    assert!(poll(&mut events, Waker::noop()).is_pending(), "the waker was displaced here");
    assert!(poll(&mut events, &Waker::from(Arc::new(Bad))).is_pending());
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(events)));
    assert!(dropped.is_ok(), "the channel held the last clone");
    pass(&bulkhead, 1);
}

/// A waker that uses the channel's bulkhead. Under a lock, that would be a deadlock.
#[test]
fn wakers_run_outside_every_lock() {
    struct Looking(TestBulkhead, AtomicUsize);
    impl Wake for Looking {
        fn wake(self: Arc<Self>) {
            pass(&self.0, usize::from(self.1.fetch_add(1, SeqCst) == 0));
        }
    }
    let executor = executor();
    let bulkhead = crate::bulkhead(&executor, 2, 0);
    let mut events = subscribe(&bulkhead, 100);
    let waker = Waker::from(Arc::new(Looking(bulkhead.clone(), AtomicUsize::new(0))));
    assert!(poll(&mut events, &waker).is_pending());
    pass(&bulkhead, 1);
    assert_eq!(numbers(&received(&mut events)), [1, 2, 3, 4]);
}
