//! Layers in each other, in any order, and what is found in their errors.

use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bulklink::testing::{Executor, FakeClock, FakeRuntime};
use bulklink::{Bulkhead, Reason};
use bulklink_breaker::{Breaker, BreakerError, Guard, GuardError, OpenCircuit, Settings, State, TimedOut};
use bulklink_tower::{BoxError, BreakerLayer, BulkheadLayer, GuardLayer, rejection};
use tower::util::BoxCloneSyncService;
use tower::{ServiceBuilder, ServiceExt, service_fn};

struct Layers {
    bulkhead: Bulkhead<FakeRuntime>,
    guard: Guard<FakeRuntime>,
    breaker: Breaker,
}

impl Layers {
    /// Circuits that open at the first failure.
    fn new(executor: &Executor) -> Self {
        let bulkhead = |label| Bulkhead::builder_on(executor.runtime(), label).parallelism(1).build().unwrap();
        let settings = Settings::consecutive(1);
        let guard = Guard::builder(&bulkhead("guarded")).settings(settings).run_limit(Duration::from_secs(5));
        Layers {
            bulkhead: bulkhead("layered"),
            guard: guard.build().unwrap(),
            breaker: Breaker::builder_on(executor.clock(), "broken").settings(settings).build().unwrap(),
        }
    }
}

type Boxed = BoxCloneSyncService<&'static str, &'static str, BoxError>;

async fn serve(request: &'static str) -> Result<&'static str, io::Error> {
    match request {
        "wait" => pending().await,
        "fail" => Err(io::Error::other("failed")),
        other => Ok(other),
    }
}

/// Builds each of the six orders.
macro_rules! orders {
    ($layers:expr; $([$($layer:ident)*]),*) => {
        [$({
            let layers = $layers;
            let service = ServiceBuilder::new()$(.layer(orders!(@$layer layers)))*.service(service_fn(serve));
            (BoxCloneSyncService::new(service) as Boxed, layers)
        }),*]
    };
    (@bulkhead $layers:ident) => { BulkheadLayer::new(&$layers.bulkhead) };
    (@guard $layers:ident) => { GuardLayer::new(&$layers.guard) };
    (@breaker $layers:ident) => { BreakerLayer::new(&$layers.breaker) };
}

fn in_each_order(executor: &Executor) -> [(Boxed, Layers); 6] {
    orders!(Layers::new(executor);
        [bulkhead guard breaker], [bulkhead breaker guard], [guard bulkhead breaker],
        [guard breaker bulkhead], [breaker bulkhead guard], [breaker guard bulkhead])
}

#[test]
fn layers_nest_in_any_order_and_a_failure_is_one_for_both_circuits() {
    let mut executor = Executor::new(FakeClock::new());
    for (service, Layers { guard, breaker, .. }) in in_each_order(&executor) {
        assert_eq!(executor.block_on(service.clone().oneshot("hello")).unwrap(), "hello");
        let error = executor.block_on(service.clone().oneshot("fail")).unwrap_err();
        assert!(error.is::<io::Error>() && rejection(&*error).is_none(), "{error}");
        assert_eq!(
            (guard.breaker().status().circuit.state, breaker.status().circuit.state),
            (State::Open, State::Open)
        );
        let error = executor.block_on(service.oneshot("hello")).unwrap_err();
        assert!(error.is::<OpenCircuit>(), "{error}");
    }
}

#[test]
fn a_rejection_is_found_and_counts_for_no_circuit_in_any_order() {
    let mut executor = Executor::new(FakeClock::new());
    for (service, Layers { bulkhead, guard, breaker }) in in_each_order(&executor) {
        for full in [&bulkhead, guard.bulkhead()] {
            let running = full.try_slot().unwrap();
            let error = executor.block_on(service.clone().oneshot("hello")).unwrap_err();
            let found = rejection(&*error).expect("it was rejected");
            assert_eq!((found.label(), found.reason()), (full.label(), Reason::Saturated));
            drop(running);
        }
        for circuit in [guard.breaker(), &breaker] {
            circuit.force_open();
            assert!(executor.block_on(service.clone().oneshot("hello")).unwrap_err().is::<OpenCircuit>());
            circuit.force_closed();
        }
        assert_eq!((guard.status().breaker.totals.failures, breaker.status().totals.failures), (0, 0));
        assert_eq!(executor.block_on(service.oneshot("hello")).unwrap(), "hello");
    }
}

#[test]
fn the_run_limit_is_found_and_a_failure_for_a_breaker_around_it() {
    let mut executor = Executor::new(FakeClock::new());
    for (service, Layers { bulkhead, guard, breaker }) in in_each_order(&executor) {
        let call = executor.spawn(service.oneshot("wait"));
        executor.run_until_idle();
        executor.advance(Duration::from_secs(5));
        let error = call.output().expect("the limit has passed").unwrap_err();
        assert!(error.is::<TimedOut>(), "{error}");
        assert_eq!(guard.status().breaker.totals.timed_out, 1);
        // A breaker inside sees a call that is dropped.
        let inner = breaker.status().totals;
        assert_eq!(inner.failures + inner.cancelled, 1);
        assert_eq!((bulkhead.status().in_flight, guard.status().active()), (0, 0));
    }
}

#[test]
fn a_rejection_is_found_inside_the_errors_of_calls_and_shared_or_boxed_ones() {
    let full = || {
        let bulkhead = Bulkhead::builder_on(FakeClock::new(), "full").parallelism(1).build().unwrap();
        let _running = bulkhead.try_slot().unwrap();
        bulkhead.try_slot().unwrap_err()
    };
    let guarded: GuardError<io::Error> = full().into();
    let nested: GuardError<GuardError<io::Error>> = GuardError::Operation(full().into());
    let broken = BreakerError::Operation(full());
    let executed: bulklink::ExecuteError<io::Error> = full().into();
    let io_error = BreakerError::Operation(io::Error::other(Arc::new(full())));
    let errors: [BoxError; 6] = [
        guarded.into_boxed(),
        nested.into(),
        broken.into(),
        executed.into(),
        io_error.into(),
        GuardError::Operation::<BoxError>(Box::new(full())).into_boxed(),
    ];
    for error in errors {
        assert_eq!(rejection(&*error).expect("it is inside").label(), "full", "{error:?}");
    }
    let shared: Arc<dyn std::error::Error + Send + Sync> = Arc::new(full());
    assert!(rejection(&shared).is_some());
}

/// An error whose cause is itself.
#[derive(Debug)]
struct Circle;

impl std::fmt::Display for Circle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a circle")
    }
}

impl std::error::Error for Circle {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(self)
    }
}

#[test]
fn causes_that_are_a_circle_have_an_end() {
    assert_eq!(rejection(&Circle), None);
}
