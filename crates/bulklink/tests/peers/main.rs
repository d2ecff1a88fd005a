//! The questions of other libraries' test suites to their limiters, put to a bulkhead.
//!
//! `docs/PEERS.md` lists their cases. Here is a test for each case that no other test holds, and
//! one for each difference that is not obvious.
#![cfg(not(bulklink_loom))]

mod async_lock;
mod dotnet;
mod embassy;
mod failsafe_go;
mod go;
mod polly;
mod python;
mod resilience4j;
mod tokio_semaphore;

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bulklink::runtime::Instant;
use bulklink::testing::FakeClock;
use bulklink::{Bulkhead, EventFilter, EventKind, OwnedSlot, OwnedSlotFuture, Reason, Rejection, Request};

type TestBulkhead = Bulkhead<FakeClock>;
type Answer = Result<OwnedSlot, Rejection>;

/// More calls than any test lets wait, except for those with another number.
const ROOM: usize = 100_000;

fn bulkhead(clock: &FakeClock, capacity: usize, waiting_room: usize) -> TestBulkhead {
    let builder = Bulkhead::builder_on(clock.clone(), "test").capacity(capacity);
    builder.waiting_room(waiting_room).build().expect("valid")
}

/// A bulkhead in which any number of calls may wait, as at a semaphore.
fn semaphore(permits: usize) -> TestBulkhead {
    bulkhead(&FakeClock::new(), permits, ROOM)
}

fn free(bulkhead: &TestBulkhead) -> usize {
    bulkhead.status().free()
}

/// Takes a slot that is free.
fn take(bulkhead: &TestBulkhead, cost: usize) -> OwnedSlot {
    bulkhead.with(Request::new().cost(cost)).try_slot().expect("free")
}

/// Returns why a call that may not wait is rejected.
fn refused(bulkhead: &TestBulkhead, cost: usize) -> Reason {
    bulkhead.with(Request::new().cost(cost)).try_slot().expect_err("not free").reason()
}

/// A call that the test polls by hand.
struct Call {
    future: OwnedSlotFuture<FakeClock>,
    woken: Arc<Woken>,
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, SeqCst);
    }
}

impl Call {
    fn new(bulkhead: &TestBulkhead, cost: usize) -> Self {
        Call::of(bulkhead, Request::new().cost(cost))
    }

    fn of(bulkhead: &TestBulkhead, request: Request<Instant>) -> Self {
        Call { future: bulkhead.with(request).slot(), woken: Arc::default() }
    }

    /// A call that has been polled once, and waits.
    fn waiting(bulkhead: &TestBulkhead, cost: usize) -> Self {
        let mut call = Call::new(bulkhead, cost);
        assert!(call.waits(), "it has to wait");
        call
    }

    fn poll(&mut self) -> Poll<Answer> {
        self.woken.0.store(false, SeqCst);
        Pin::new(&mut self.future).poll(&mut Context::from_waker(&Waker::from(Arc::clone(&self.woken))))
    }

    /// Whether it was woken since its last poll.
    fn is_woken(&self) -> bool {
        self.woken.0.load(SeqCst)
    }

    /// Polls it, and returns whether it waits on.
    fn waits(&mut self) -> bool {
        self.poll().is_pending()
    }

    fn answer(&mut self) -> Answer {
        match self.poll() {
            Poll::Ready(answer) => answer,
            Poll::Pending => panic!("the call waits"),
        }
    }

    fn slot(&mut self) -> OwnedSlot {
        self.answer().expect("admitted")
    }

    fn reason(&mut self) -> Reason {
        self.answer().expect_err("rejected").reason()
    }
}

/// Starts a thread that blocks for a slot, and returns when it is in the queue.
fn blocked(bulkhead: &TestBulkhead, cost: usize) -> JoinHandle<Answer> {
    let queued = bulkhead.status().totals.queued;
    let thread = thread::spawn({
        let bulkhead = bulkhead.clone();
        move || bulkhead.with(Request::new().cost(cost)).blocking_slot()
    });
    while bulkhead.status().totals.queued == queued {
        thread::yield_now();
    }
    thread
}

/// Runs a future on this thread.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// Returns the log of the kinds of all events from now on.
fn kinds(bulkhead: &TestBulkhead) -> Arc<Mutex<Vec<EventKind>>> {
    let log = Arc::new(Mutex::new(vec![]));
    let inside = Arc::clone(&log);
    let handler = move |event: &bulklink::Event| inside.lock().expect("no panic").push(event.kind);
    bulkhead.handle().add_event_handler(EventFilter::ALL, handler);
    log
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
