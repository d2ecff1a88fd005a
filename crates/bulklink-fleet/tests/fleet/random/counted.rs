//! A runtime that fails where a task goes round without end, and futures that are polled by hand.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use bulklink::runtime::{Clock, Instant, Spawn, SpawnError, Timer};
use bulklink::testing::{FakeRuntime, FakeSleep};

/// How often the time is read until a test looks at the world again, at most. Every round of a
/// fleet's task reads it.
const MOST_READINGS: u64 = 100_000;

#[derive(Clone)]
pub(super) struct Counted {
    pub(super) runtime: FakeRuntime,
    pub(super) readings: Arc<AtomicU64>,
}

impl Clock for Counted {
    type Instant = Instant;

    fn now(&self) -> Instant {
        let readings = self.readings.fetch_add(1, Ordering::Relaxed);
        assert!(readings < MOST_READINGS, "a task goes round without end");
        self.runtime.now()
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }
}

impl Timer for Counted {
    type Sleep = FakeSleep;

    fn sleep_until(&self, deadline: Instant) -> FakeSleep {
        self.runtime.sleep_until(deadline)
    }
}

impl Spawn for Counted {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Result<(), SpawnError> {
        self.runtime.spawn(task)
    }
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A future that is polled when the test says so.
pub(super) struct Manual<T> {
    future: Pin<Box<dyn Future<Output = T>>>,
    flag: Arc<Flag>,
    was_polled: Cell<bool>,
}

impl<T> Manual<T> {
    pub(super) fn new(future: impl Future<Output = T> + 'static) -> Self {
        Self { future: Box::pin(future), flag: Arc::new(Flag(AtomicBool::new(true))), was_polled: Cell::new(false) }
    }

    /// Whether it was woken since the last poll.
    pub(super) fn is_woken(&self) -> bool {
        self.flag.0.load(Ordering::Relaxed)
    }

    pub(super) fn was_polled(&self) -> bool {
        self.was_polled.get()
    }

    pub(super) fn poll(&mut self) -> Option<T> {
        self.flag.0.store(false, Ordering::Relaxed);
        self.was_polled.set(true);
        self.poll_with(&Waker::from(Arc::clone(&self.flag)))
    }

    /// Another task polls it: the waker of before is no longer of use.
    pub(super) fn poll_elsewhere(&mut self) -> Option<T> {
        self.flag = Arc::new(Flag(AtomicBool::new(false)));
        self.poll()
    }

    fn poll_with(&mut self, waker: &Waker) -> Option<T> {
        match self.future.as_mut().poll(&mut Context::from_waker(waker)) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }
}
