//! Clocks that panic: the panic loses nothing but what the clock was read for.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use bulklink::testing::{FakeClock, FakeSleep};
use bulklink::{Bulkhead, Clock, Instant, Partitions, Registry, Spawn, SpawnError, Timer};

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A runtime with a clock that panics on demand.
#[derive(Clone, Default)]
pub(crate) struct PanickingClock(FakeClock, Arc<AtomicBool>, Arc<Mutex<Vec<Task>>>);

impl PanickingClock {
    pub(crate) fn panic(&self, panics: bool) {
        self.1.store(panics, SeqCst);
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

fn panics(act: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(act)).is_err()
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
    let slot = tenants.try_slot(&"ann").expect("free");
    let mut waiting = Box::pin(tenants.slot(&"ann"));
    assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    clock.panic(true);
    assert!(panics(|| drop(slot)), "the end of the hold reads the clock");
    drop(waiting);
    clock.panic(false);
    assert_eq!(tenants.status().leased_operations, 0);
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
