//! The layer of a breaker alone.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bulklink::testing::{Executor, FakeClock};
use bulklink_breaker::{Breaker, OpenCircuit, Outcome, Settings, State};
use bulklink_tower::{BoxError, BreakerLayer};
use tower::{Layer, Service, ServiceExt, service_fn};

fn breaker(executor: &Executor) -> Breaker {
    let settings = Settings::consecutive(2).cool_down(Duration::from_millis(10));
    Breaker::builder_on(executor.clock(), "test").settings(settings).build().expect("valid settings")
}

/// A service whose request says what becomes of it.
async fn serve(request: &'static str) -> Result<&'static str, BoxError> {
    match request {
        "wait" => pending().await,
        "fail" => Err("failed".into()),
        "panic" => panic!("it panicked"),
        other => Ok(other),
    }
}

#[test]
fn a_breaker_opens_by_the_results_of_the_service_and_closes_by_a_probe() {
    let mut executor = Executor::new(FakeClock::new());
    let breaker = breaker(&executor);
    let service = BreakerLayer::new(&breaker).layer(service_fn(serve));
    for _ in 0..2 {
        assert_eq!(executor.block_on(service.clone().oneshot("fail")).unwrap_err().to_string(), "failed");
    }
    // A clone shares the circuit.
    let error = executor.block_on(service.clone().oneshot("hello")).unwrap_err();
    let open = error.downcast_ref::<OpenCircuit>().expect("the circuit is open");
    assert_eq!(open.retry_after, Some(Duration::from_millis(10)));
    executor.advance(Duration::from_millis(10));
    assert_eq!(executor.block_on(service.oneshot("hello")).unwrap(), "hello");
    assert_eq!(breaker.status().circuit.state, State::Closed);
}

#[test]
fn a_probe_whose_future_is_dropped_leaves_its_place() {
    let mut executor = Executor::new(FakeClock::new());
    let breaker = breaker(&executor);
    let service = BreakerLayer::new(&breaker).layer(service_fn(serve));
    breaker.admit().unwrap().fail();
    breaker.admit().unwrap().fail();
    executor.advance(Duration::from_millis(10));
    // A future that is never polled takes no place.
    drop(service.clone().call("wait"));
    let unpolled = service.clone().call("hello");
    let probe = executor.spawn(service.clone().oneshot("wait"));
    executor.run_until_idle();
    assert_eq!(breaker.status().circuit.probes, 1);
    assert!(executor.block_on(unpolled).unwrap_err().is::<OpenCircuit>(), "one probe at once");
    probe.cancel();
    assert_eq!((breaker.status().circuit.state, breaker.status().circuit.probes), (State::HalfOpen, 0));
    assert_eq!(executor.block_on(service.oneshot("hello")).unwrap(), "hello");
    assert_eq!(breaker.status().circuit.state, State::Closed);
    assert_eq!((breaker.status().totals.cancelled, breaker.status().totals.probes), (1, 2));
}

#[test]
fn a_service_that_panics_is_a_failure() {
    let mut executor = Executor::new(FakeClock::new());
    let breaker = breaker(&executor);
    let service = BreakerLayer::new(&breaker).layer(service_fn(serve));
    let call = std::panic::AssertUnwindSafe(|| executor.block_on(service.oneshot("panic")));
    assert!(std::panic::catch_unwind(call).is_err());
    assert_eq!((breaker.status().totals.failures, breaker.status().totals.panicked), (1, 1));
}

/// A service that is ready at the second poll, and counts these.
#[derive(Clone, Default)]
struct Slow {
    polls: Arc<AtomicUsize>,
    is_ready: bool,
}

impl Service<()> for Slow {
    type Response = ();
    type Error = BoxError;
    type Future = std::future::Ready<Result<(), BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        if self.polls.fetch_add(1, SeqCst) == 0 {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.is_ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        assert!(self.is_ready, "this clone was readied");
        std::future::ready(Ok(()))
    }
}

#[test]
fn the_service_is_always_ready_and_readies_the_one_inside_when_a_request_is_let_through() {
    let mut executor = Executor::new(FakeClock::new());
    let breaker = breaker(&executor);
    let inner = Slow::default();
    let polls = Arc::clone(&inner.polls);
    let mut service = BreakerLayer::new(&breaker).layer(inner);
    breaker.force_open();
    assert!(service.poll_ready(&mut Context::from_waker(Waker::noop())).is_ready());
    assert!(executor.block_on(service.call(())).unwrap_err().is::<OpenCircuit>());
    assert_eq!(polls.load(SeqCst), 0, "a request that is not let through readies nothing");
    breaker.force_closed();
    executor.block_on(service.call(())).unwrap();
    assert_eq!((polls.load(SeqCst), breaker.status().totals.successes), (2, 1));
}

#[test]
fn a_classifier_decides_and_counts_nothing_if_it_panics() {
    let mut executor = Executor::new(FakeClock::new());
    let by_number = |result: &Result<u32, BoxError>| match result {
        Ok(0) => panic!("it panicked"),
        Ok(1) => Outcome::Failure,
        Ok(2) => Outcome::Ignore,
        _ => Outcome::Success,
    };
    let breaker = Breaker::builder_on(executor.clock(), "test").classify(by_number).build().unwrap();
    let service = BreakerLayer::new(&breaker).layer(service_fn(async |number: u32| Ok::<_, BoxError>(number)));
    for number in [1, 2, 3] {
        assert_eq!(executor.block_on(service.clone().oneshot(number)).unwrap(), number);
    }
    let call = std::panic::AssertUnwindSafe(|| executor.block_on(service.oneshot(0)));
    assert!(std::panic::catch_unwind(call).is_err());
    let totals = breaker.status().totals;
    assert_eq!([totals.failures, totals.ignored, totals.successes, totals.cancelled, totals.panicked], [1, 1, 1, 1, 0]);
}
