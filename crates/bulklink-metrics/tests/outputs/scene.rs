//! A registry with a bulkhead and partitions, on virtual time.

use std::time::Duration;

use bulklink::testing::{Executor, FakeClock, FakeRuntime};
use bulklink::{Bulkhead, Ceiling, OwnedSlot, Partitions, Registry};

pub(crate) type Bulkheads = Bulkhead<FakeRuntime>;
pub(crate) type Tenants = Partitions<String, FakeRuntime>;

pub(crate) struct Scene {
    pub(crate) executor: Executor,
    pub(crate) registry: Registry,
    pub(crate) payments: Bulkheads,
    pub(crate) tenants: Tenants,
    /// Slots in use until the end.
    pub(crate) held: Vec<OwnedSlot>,
    /// Of `payments`, and lifted.
    pub(crate) ceiling: Ceiling,
}

pub(crate) const SECOND: Duration = Duration::from_secs(1);

impl Scene {
    /// `payments` has one slot and a waiting room of 2; each of at most 2 `tenants` has the same.
    pub(crate) fn new() -> Self {
        let executor = Executor::new(FakeClock::new());
        let registry = Registry::new();
        let payments = Bulkhead::builder_on(executor.runtime(), "payments").parallelism(1).waiting_room(2);
        let payments = payments.wait_limit(5 * SECOND).measure_holds(true);
        let tenants = Tenants::builder_on(executor.runtime(), "tenants").parallelism(1).waiting_room(2);
        let tenants = tenants.wait_limit(5 * SECOND).measure_holds(true).max_partitions(2);
        let payments = registry.create(payments).unwrap();
        Scene {
            ceiling: payments.handle().ceiling("fleet"),
            held: Vec::new(),
            payments,
            tenants: registry.create_partitions(tenants).unwrap(),
            executor,
            registry,
        }
    }
}
