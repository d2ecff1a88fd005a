//! Estimates of a layer on clocks that misbehave.

use std::convert::Infallible;
use std::future::ready;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bulklink::runtime::{Clock, Instant, Runtime, Timer};
use bulklink::testing::{FakeClock, FakeSleep};
use bulklink::{Bulkhead, OwnedSlot};
use bulklink_tower::BulkheadLayer;
use bulklink_tower::http::Responses;
use bytes::Bytes;
use futures_util::FutureExt;
use http::{Request, Response};
use http_body_util::Empty;
use tower::{Layer, Service, service_fn};

/// A clock that runs the function in it, once, when it is read.
#[derive(Clone)]
struct Foreign {
    clock: FakeClock,
    run: Arc<Mutex<Option<Run>>>,
}

type Run = Box<dyn FnOnce() + Send>;

impl Clock for Foreign {
    type Instant = Instant;

    fn now(&self) -> Instant {
        let run = self.run.lock().unwrap().take();
        if let Some(run) = run {
            run();
        }
        self.clock.now()
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }
}

impl Timer for Foreign {
    type Sleep = FakeSleep;

    fn sleep_until(&self, at: Instant) -> FakeSleep {
        self.clock.sleep_until(at)
    }
}

fn foreign() -> Foreign {
    Foreign { clock: FakeClock::new(), run: Arc::default() }
}

/// Longer than each estimate here; it is spread up to twice that.
const FALLBACK: Duration = Duration::from_secs(30);

fn has_fallen_back((status, retry_after): (u16, Option<u64>)) -> bool {
    status == 503 && (30..=60).contains(&retry_after.expect("it is there"))
}

/// Makes a bulkhead that is full, and a function that sends a request to it, and returns the status
/// of the answer and its `Retry-After`.
fn full<R: Runtime>(clock: R) -> (Bulkhead<R>, OwnedSlot, impl FnMut() -> (u16, Option<u64>) + Clone + Send) {
    let payments = Bulkhead::builder_on(clock, "payments").parallelism(1).build().unwrap();
    drop(payments.try_slot().unwrap());
    let running = payments.owned().try_slot().unwrap();
    let service = service_fn(|_: Request<()>| ready(Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))));
    let responses = Responses::new().retry_after_or(FALLBACK);
    let mut service = BulkheadLayer::new(&payments).respond_with(&responses).layer(service);
    let reject = move || {
        let response = service.call(Request::new(())).now_or_never().unwrap().unwrap();
        let retry_after = response.headers().get("retry-after");
        (response.status().as_u16(), retry_after.map(|value| value.to_str().unwrap().parse().unwrap()))
    };
    (payments, running, reject)
}

#[test]
fn a_clock_that_panics_costs_no_more_than_the_retry_after() {
    let clock = foreign();
    let (_payments, _running, mut reject) = full(clock.clone());
    *clock.run.lock().unwrap() = Some(Box::new(|| panic!("on purpose")));
    assert!(has_fallen_back(catch_unwind(AssertUnwindSafe(&mut reject)).unwrap()));
}

#[test]
fn a_clock_that_is_rejected_itself_does_not_deadlock() {
    let clock = foreign();
    let (_payments, _running, mut reject) = full(clock.clone());
    let mut inside = reject.clone();
    // The first reading finds out the millisecond, the second is for the estimate.
    let second: Run = Box::new(move || assert_eq!(inside().0, 503));
    let run = Arc::clone(&clock.run);
    *clock.run.lock().unwrap() = Some(Box::new(move || *run.lock().unwrap() = Some(second)));
    assert_eq!(reject().0, 503);
    assert!(clock.run.lock().unwrap().is_none(), "it was read twice");
}

#[test]
fn the_first_rejection_takes_a_sample_also_at_the_beginning_of_time() {
    let clock = FakeClock::at(Instant::EPOCH);
    let (payments, running, mut reject) = full(clock.clone());
    assert!(has_fallen_back(reject()));
    clock.advance(Duration::from_millis(400));
    drop(running);
    let _running = payments.try_slot().unwrap();
    assert!(!has_fallen_back(reject()));
}
