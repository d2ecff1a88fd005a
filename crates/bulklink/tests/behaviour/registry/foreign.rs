//! Runtimes that misbehave, in a registry.

use std::cell::{Cell, RefCell};

use bulklink::runtime::{Clock, Instant, Timer};
use bulklink::testing::{FakeClock, FakeSleep};
use bulklink::{Bulkhead, Registry};

use crate::panicking_clock::PanickingClock;

pub(super) fn create_panicking(registry: &Registry, label: &str) -> (Bulkhead<PanickingClock>, PanickingClock) {
    let runtime = PanickingClock::default();
    let builder = Bulkhead::builder_on(runtime.clone(), label).parallelism(1);
    (registry.create(builder).expect("a new name"), runtime)
}

thread_local! {
    static REGISTRY: RefCell<Option<Registry>> = const { RefCell::new(None) };
    static USES: Cell<usize> = const { Cell::new(0) };
}

/// A runtime that uses the registry whenever it is cloned or dropped. Under the registry's lock,
/// that would be a deadlock.
struct UsesRegistry(FakeClock);

fn use_registry() {
    let registry = REGISTRY.with_borrow(Clone::clone);
    USES.set(USES.get() + registry.map_or(0, |registry| registry.len() + 1));
}

impl Clone for UsesRegistry {
    fn clone(&self) -> Self {
        use_registry();
        UsesRegistry(self.0.clone())
    }
}

impl Drop for UsesRegistry {
    fn drop(&mut self) {
        use_registry();
    }
}

impl Clock for UsesRegistry {
    type Instant = Instant;

    fn now(&self) -> Instant {
        use_registry();
        self.0.now()
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }
}

impl Timer for UsesRegistry {
    type Sleep = FakeSleep;

    fn sleep_until(&self, deadline: Instant) -> FakeSleep {
        self.0.sleep_until(deadline)
    }
}

#[test]
fn no_foreign_code_runs_under_the_lock_of_the_registry() {
    let registry = Registry::new();
    REGISTRY.set(Some(registry.clone()));
    let builder = || Bulkhead::builder_on(UsesRegistry(FakeClock::new()), "payments").parallelism(1);
    registry.create(builder()).expect("a new name");
    assert!(registry.create(builder()).is_err(), "taken");
    drop(registry.bulkhead::<UsesRegistry>("payments"));
    let shared = builder();
    for label in ["payments", "reports", "reports"] {
        drop(registry.get_or_create(label, &shared));
    }
    drop(registry.remove("reports"));
    registry.resize_all([("payments", 3)]).expect("valid");
    drop((registry.statuses(), registry.capacity_reports(), format!("{registry:?}")));
    let running = registry.bulkhead::<UsesRegistry>("payments").expect("its runtime").owned().try_slot().expect("free");
    drop(registry.remove("payments"));
    drop(running);
    assert!(registry.is_empty(), "the registry held the last clone");
    registry.create(builder()).expect("free again");
    registry.close_all();
    assert!(USES.get() > 10);
    REGISTRY.set(None);
}
