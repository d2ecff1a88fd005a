//! The promises of the front, tested on the deterministic executor with the fake clock.
#![cfg(not(bulklink_loom))]

mod adaptive;
mod admission;
mod bad_input;
mod blocking;
mod call_deadlines;
mod cancelling;
mod capacity_report;
mod ceilings;
mod clock;
mod closing;
mod config;
mod counters;
mod deadlines;
mod deferred;
mod delivery;
mod driver;
mod estimates;
mod event_channel;
mod event_fields;
mod events;
mod faults;
mod fetching;
mod figures;
mod foreign_code;
mod holding;
mod in_a_static;
mod loads;
mod panicking_clock;
mod partitions;
mod parts;
mod pausing;
mod readiness;
mod reconfiguring;
mod registry;
mod rejections;
mod resizing;
mod shared;
mod status;
mod submit;
#[cfg(feature = "tracing")]
mod traces;
#[cfg(feature = "tsc")]
mod tsc;
mod types;
mod uncollected;
mod waiting_units;
mod wakers;
mod weights;

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::Wake;
use std::time::Duration;

use bulklink::testing::{Executor, FakeClock, Task};
use bulklink::{Builder, Bulkhead, Event, OwnedSlot, Reason, Rejection};

type TestBulkhead = Bulkhead<FakeClock>;
type Call = Task<Result<OwnedSlot, Rejection>>;

fn executor() -> Executor {
    Executor::new(FakeClock::new())
}

fn builder(executor: &Executor) -> Builder<FakeClock> {
    Bulkhead::builder_on(executor.clock(), "test")
}

fn bulkhead(executor: &Executor, parallelism: usize, waiting_room: usize) -> TestBulkhead {
    builder(executor).parallelism(parallelism).waiting_room(waiting_room).build().expect("valid")
}

/// Spawns a task that acquires a slot, and polls it once.
fn call(executor: &mut Executor, bulkhead: &TestBulkhead) -> Call {
    let call = executor.spawn(bulkhead.owned().slot());
    executor.run_until_idle();
    call
}

fn slot(call: &Call) -> OwnedSlot {
    call.output().expect("the call has ended").expect("it was admitted")
}

fn reason(call: &Call) -> Reason {
    call.output().expect("the call has ended").expect_err("it was rejected").reason()
}

/// A waker that counts how often it is woken, and can panic then.
#[derive(Default)]
struct CountingWaker {
    wakes: AtomicUsize,
    panics: bool,
}

impl CountingWaker {
    fn wakes(&self) -> usize {
        self.wakes.load(SeqCst)
    }
}

impl Wake for CountingWaker {
    fn wake(self: Arc<Self>) {
        self.wakes.fetch_add(1, SeqCst);
        assert!(!self.panics, "a waker that panics, on purpose");
    }
}

type Log<T> = Arc<Mutex<Vec<T>>>;

/// Returns an event handler, and the log in which it puts the result of `seen` for each event.
fn recorder<T, S>(seen: S) -> (Log<T>, impl Fn(&Event) + Send + Sync + use<T, S>)
where
    T: Send + 'static,
    S: Fn(&Event) -> T + Send + Sync + 'static,
{
    let log = Log::default();
    let inside = Arc::clone(&log);
    (log, move |event: &Event| inside.lock().expect("no panic").push(seen(event)))
}

/// Empties the log, and returns its content.
fn taken<T>(log: &Log<T>) -> Vec<T> {
    std::mem::take(&mut *log.lock().expect("no panic"))
}

/// Returns the texts of an error and of its causes.
fn chain(error: &(dyn Error + 'static)) -> String {
    let texts = std::iter::successors(Some(error), |&error| error.source()).map(ToString::to_string);
    texts.collect::<Vec<_>>().join(": ")
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
