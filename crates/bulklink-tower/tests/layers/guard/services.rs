//! A guard around services: readiness, the queue and the circuit.

use std::future::{Future, Pending, pending, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll};
use std::time::Duration;

use bulklink::testing::{Executor, FakeClock, FakeRuntime};
use bulklink::{Bulkhead, EventFilter, EventKind, Reason};
use bulklink_breaker::{Guard, OpenCircuit, Outcome, Settings, State};
use bulklink_tower::{BoxError, GuardLayer, GuardService, rejection};
use tower::util::BoxCloneSyncService;
use tower::{Layer, Service, ServiceExt, service_fn};

pub(crate) fn guard(executor: &Executor, waiting_room: usize) -> Guard<FakeRuntime> {
    let builder = Bulkhead::builder_on(executor.runtime(), "test").parallelism(1).waiting_room(waiting_room);
    let bulkhead = builder.build().expect("valid limits");
    let settings = Settings::consecutive(2).cool_down(Duration::from_millis(10));
    Guard::builder(&bulkhead).settings(settings).build().expect("valid settings")
}

/// A service that becomes ready only in a slot, and never ends if it is asked to.
#[derive(Clone)]
struct Inner {
    guard: Guard<FakeRuntime>,
    is_ready: bool,
    readied: Arc<AtomicUsize>,
}

impl Inner {
    fn new(guard: &Guard<FakeRuntime>) -> Self {
        Inner { guard: guard.clone(), is_ready: false, readied: Arc::default() }
    }
}

impl Service<&'static str> for Inner {
    type Response = &'static str;
    type Error = &'static str;
    type Future = Pin<Box<dyn Future<Output = Result<&'static str, &'static str>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        assert_eq!(self.guard.bulkhead().status().in_flight, 1, "it is readied in its slot");
        self.is_ready = true;
        self.readied.fetch_add(1, SeqCst);
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: &'static str) -> Self::Future {
        assert!(std::mem::take(&mut self.is_ready), "this clone was readied");
        match request {
            "wait" => Box::pin(pending()),
            "fail" => Box::pin(ready(Err("failed"))),
            other => Box::pin(ready(Ok(other))),
        }
    }
}

type Answer = Result<&'static str, BoxError>;

fn send(
    executor: &mut Executor,
    service: &GuardService<Inner, Guard<FakeRuntime>>,
    request: &'static str,
) -> bulklink::testing::Task<Answer> {
    let task = executor.spawn(service.clone().oneshot(request));
    executor.run_until_idle();
    task
}

fn answer(task: &bulklink::testing::Task<Answer>) -> Answer {
    task.output().expect("the request is answered")
}

#[test]
fn a_clone_of_the_service_is_readied_in_the_slot() {
    let mut executor = Executor::new(FakeClock::new());
    let guard = guard(&executor, 0);
    let inner = Inner::new(&guard);
    let readied = Arc::clone(&inner.readied);
    let mut service = GuardLayer::new(&guard).layer(inner);
    assert!(service.poll_ready(&mut Context::from_waker(std::task::Waker::noop())).is_ready());
    assert_eq!(readied.load(SeqCst), 0, "a service that is ready and never called holds nothing");
    let first = send(&mut executor, &service, "wait");
    let full = send(&mut executor, &service, "rejected");
    let error = answer(&full).unwrap_err();
    let reason = rejection(&*error).expect("it is rejected").reason();
    assert_eq!((reason, readied.load(SeqCst)), (Reason::Saturated, 1));
    first.cancel();
    assert_eq!(answer(&send(&mut executor, &service, "hello")).ok(), Some("hello"));
    assert_eq!(service.guard().status().active(), 0);
}

#[test]
fn clones_of_the_service_share_the_circuit() {
    let mut executor = Executor::new(FakeClock::new());
    let guard = guard(&executor, 0);
    let layer = GuardLayer::new(&guard);
    let services = [(); 3].map(|()| layer.clone().layer(Inner::new(&guard)));
    for service in &services[..2] {
        assert_eq!(answer(&send(&mut executor, service, "fail")).unwrap_err().to_string(), "failed");
    }
    assert!(answer(&send(&mut executor, &services[2], "hello")).unwrap_err().is::<OpenCircuit>());
    executor.advance(Duration::from_millis(10));
    assert_eq!(answer(&send(&mut executor, &services[2], "hello")).ok(), Some("hello"));
    assert!(guard.health().is_healthy());
}

#[test]
fn requests_that_wait_are_rejected_when_the_circuit_opens() {
    let mut executor = Executor::new(FakeClock::new());
    let guard = guard(&executor, 5);
    let service = GuardLayer::new(&guard).layer(Inner::new(&guard));
    let first = send(&mut executor, &service, "wait");
    let queued = send(&mut executor, &service, "never");
    guard.breaker().force_open();
    executor.run_until_idle();
    assert!(answer(&queued).unwrap_err().is::<OpenCircuit>());
    first.cancel();
    assert_eq!((guard.status().active(), guard.status().breaker.totals.cancelled), (0, 1));
}

/// The bulkhead learns nothing from a slot in which no operation has begun.
#[test]
fn a_slot_is_abandoned_if_the_circuit_opens_as_the_request_gets_it() {
    let mut executor = Executor::new(FakeClock::new());
    let guard = guard(&executor, 0);
    let service = GuardLayer::new(&guard).layer(Inner::new(&guard));
    let (breaker, admitted) = (guard.breaker().clone(), EventFilter::of(EventKind::Admitted));
    guard.bulkhead().handle().add_event_handler(admitted, move |_| breaker.force_open());
    assert!(answer(&send(&mut executor, &service, "never")).unwrap_err().is::<OpenCircuit>());
    let totals = guard.bulkhead().status().totals;
    assert_eq!((totals.admitted, totals.abandoned, guard.status().active()), (1, 1, 0));
}

/// A service that never becomes ready.
#[derive(Clone)]
struct NeverReady;

impl Service<()> for NeverReady {
    type Response = ();
    type Error = &'static str;
    type Future = Pending<Result<(), &'static str>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Err("it is down"))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        unreachable!("it is not ready")
    }
}

#[test]
fn a_service_that_fails_to_become_ready_is_a_failure() {
    let mut executor = Executor::new(FakeClock::new());
    let guard = guard(&executor, 0);
    let service = GuardLayer::new(&guard).layer(NeverReady);
    for _ in 0..2 {
        let answer = executor.block_on(service.clone().oneshot(()));
        assert_eq!(answer.unwrap_err().to_string(), "it is down");
    }
    assert_eq!(guard.breaker().status().circuit.state, State::Open);
}

/// On tokio, boxed as a service that is `Send`, `Sync` and `Clone`; a status counts as a failure.
#[tokio::test]
async fn a_status_can_be_a_failure() -> Result<(), BoxError> {
    let bulkhead = bulklink_tokio::Bulkhead::builder("test").parallelism(1).build()?;
    let by_status = |answer: &Result<u16, std::io::Error>| match answer {
        Ok(..500) => Outcome::Success,
        _ => Outcome::Failure,
    };
    let guard = Guard::builder(&bulkhead).settings(Settings::consecutive(2)).classify(by_status);
    let guard = guard.run_limit(Duration::from_secs(5)).build()?;
    let inner = service_fn(async |status: u16| Ok::<_, std::io::Error>(status));
    let service = BoxCloneSyncService::new(GuardLayer::new(&guard).layer(inner));
    for status in [200, 503, 404, 503, 503] {
        assert_eq!(tokio::spawn(service.clone().oneshot(status)).await??, status);
    }
    assert!(service.oneshot(200).await.unwrap_err().is::<OpenCircuit>());
    Ok(())
}
