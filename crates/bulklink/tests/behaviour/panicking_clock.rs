//! Clocks that panic: the panic loses nothing but the purpose of the reading.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bulklink::runtime::{Clock, Instant, Spawn, SpawnError, Timer};
use bulklink::testing::{FakeClock, FakeSleep};
use bulklink::{Bulkhead, EventFilter, Partitions, Reason, Registry};

use crate::ms;

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A runtime with a clock that panics on demand.
#[derive(Clone, Default)]
pub(crate) struct PanickingClock(FakeClock, Arc<AtomicBool>, Arc<Mutex<Vec<Task>>>);

impl PanickingClock {
    pub(crate) fn panic(&self, panics: bool) {
        self.1.store(panics, SeqCst);
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.0.advance(by);
    }
}

impl Clock for PanickingClock {
    type Instant = Instant;

    fn now(&self) -> Instant {
        assert!(!self.1.load(SeqCst), "a clock that panics, on purpose");
        self.0.now()
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }
}

impl Timer for PanickingClock {
    type Sleep = FakeSleep;

    fn sleep_until(&self, deadline: Instant) -> FakeSleep {
        self.0.sleep_until(deadline)
    }
}

/// Tasks are kept, and not run.
impl Spawn for PanickingClock {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Result<(), SpawnError> {
        self.2.lock().expect("no panic").push(Box::pin(task));
        Ok(())
    }
}

#[test]
fn a_status_is_returned_nevertheless() {
    let (registry, clock) = (Registry::new(), PanickingClock::default());
    let builder = |label| Bulkhead::builder_on(clock.clone(), label).parallelism(1);
    let bulkheads = ["one", "other"].map(|label| registry.create(builder(label)).expect("a new name"));
    let _running = bulkheads[0].try_slot().expect("free");
    clock.panic(true);
    let in_flight: Vec<_> = registry.statuses().iter().map(|status| status.in_flight).collect();
    assert_eq!(in_flight, [1, 0]);
}

#[test]
fn a_call_leaves_its_partition_nevertheless() {
    let clock = PanickingClock::default();
    let builder = Partitions::<&str, _>::builder_on(clock.clone(), "tenants").parallelism(1).waiting_room(2);
    let builder = builder.idle_timeout(std::time::Duration::ZERO).measure_holds(true).max_partitions(1);
    let tenants = builder.build().expect("valid");
    let slot = tenants.key(&"ann").try_slot().expect("free");
    let mut waiting = Box::pin(tenants.key(&"ann").slot());
    assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    clock.panic(true);
    // The end of the hold reads the clock.
    drop(slot);
    drop(waiting);
    clock.panic(false);
    assert_eq!((tenants.status().leased_operations, tenants.handle().sums().in_flight), (0, 0));
}

#[test]
fn a_slot_is_given_back_and_a_waiter_withdrawn_nevertheless() {
    let clock = PanickingClock::default();
    let bulkhead = Bulkhead::builder_on(clock.clone(), "test").parallelism(1).waiting_room(2).build().expect("valid");
    bulkhead.handle().add_event_handler(EventFilter::ALL, |_| ());
    let running = bulkhead.try_slot().expect("free");
    let [mut first, mut second] = [(); 2].map(|()| Box::pin(bulkhead.slot()));
    for call in [&mut first, &mut second] {
        assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    clock.panic(true);
    drop(first);
    drop(running);
    clock.panic(false);
    let status = bulkhead.status();
    assert_eq!((status.waiting, status.uncollected, status.totals.cancelled), (0, 1, 1));
    let Poll::Ready(Ok(slot)) = second.as_mut().poll(&mut Context::from_waker(Waker::noop())) else { panic!("waits") };
    drop(slot);
    assert_eq!(bulkhead.status().in_flight, 0);
}

/// A slot that is handed over while the clock panics has the time of the latest input, and so its
/// right age.
#[test]
fn a_slot_handed_over_meanwhile_is_not_taken_back_early() {
    let clock = PanickingClock::default();
    clock.0.advance(ms(3_600_000));
    let builder = Bulkhead::builder_on(clock.clone(), "test").parallelism(1).waiting_room(2);
    let bulkhead = builder.collect_limit(ms(100)).build().expect("valid");
    let _running = bulkhead.try_slot().expect("free");
    let mut waiting = Box::pin(bulkhead.slot());
    assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    clock.panic(true);
    bulkhead.resize(2).expect("valid");
    clock.panic(false);
    assert_eq!(bulkhead.status().oldest_uncollected(), Some(ms(0)));
    assert!(matches!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(Ok(_))));
}

#[test]
fn a_submitted_operation_can_be_cancelled_nevertheless() {
    let clock = PanickingClock::default();
    let bulkhead = Bulkhead::builder_on(clock.clone(), "test").parallelism(1).measure_holds(true);
    let bulkhead = bulkhead.build().expect("valid");
    let handle = bulkhead.submit(async {}).expect("free");
    clock.panic(true);
    assert!(handle.cancel());
    clock.panic(false);
    assert_eq!(bulkhead.status().in_flight, 0);
    drop(bulkhead.try_slot().expect("the slot is free again"));
}

/// Without the time, no wait expires: the limits change and the queue moves nevertheless.
#[test]
fn limits_can_be_changed_and_calls_resumed_nevertheless() {
    let clock = PanickingClock::default();
    let bulkhead = Bulkhead::builder_on(clock.clone(), "test").parallelism(1).waiting_room(2).build().expect("valid");
    let _running = bulkhead.try_slot().expect("free");
    let mut context = Context::from_waker(Waker::noop());
    let mut waiting = [Box::pin(bulkhead.slot()), Box::pin(bulkhead.slot())];
    assert!(waiting.iter_mut().all(|call| call.as_mut().poll(&mut context).is_pending()));
    clock.panic(true);
    assert_eq!(bulkhead.resize(2).expect("valid").admitted, 1);
    bulkhead.pause();
    let limits = bulkhead.limits().with_waiting_room(3).with_capacity(3);
    assert_eq!(bulkhead.reconfigure(limits).expect("valid").admitted, 0);
    assert!(bulkhead.resume());
    assert!(waiting.iter_mut().all(|call| call.as_mut().poll(&mut context).is_ready()));
    assert_eq!(bulkhead.handle().take_back_uncollected(Duration::ZERO), 0);
}

#[test]
fn bulkheads_and_partitions_close_nevertheless() {
    let clock = PanickingClock::default();
    let bulkhead = Bulkhead::builder_on(clock.clone(), "test").parallelism(1).waiting_room(1).wait_limit(ms(10));
    let bulkhead = bulkhead.collect_limit(ms(10)).build().expect("valid");
    let tenants = Partitions::<&str, _>::builder_on(clock.clone(), "tenants").parallelism(1).waiting_room(1);
    let tenants = tenants.max_partitions(2).build().expect("valid");
    let slots = [bulkhead.owned().try_slot().expect("free"), tenants.key(&"ann").try_slot().expect("free")];
    let mut calls = [Box::pin(bulkhead.owned().slot()), Box::pin(tenants.key(&"ann").slot())];
    let mut context = Context::from_waker(Waker::noop());
    assert!(calls.iter_mut().all(|call| call.as_mut().poll(&mut context).is_pending()));
    clock.panic(true);
    assert!(tenants.pause() && tenants.resume());
    assert_eq!(tenants.reconfigure(tenants.status().each.with_capacity(1)).expect("valid").admitted, 0);
    assert!(bulkhead.close() && tenants.close());
    clock.panic(false);
    for call in &mut calls {
        let Poll::Ready(Err(rejection)) = call.as_mut().poll(&mut context) else { panic!("it was rejected") };
        assert_eq!(rejection.reason(), Reason::Closed);
    }
    drop((slots, calls));
    assert!(bulkhead.status().is_drained() && tenants.status().is_drained());
}
