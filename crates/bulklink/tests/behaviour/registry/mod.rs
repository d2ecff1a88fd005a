//! Named bulkheads.

mod closing;
mod foreign;
mod names;
mod partitions;
mod removal;
mod resizing;

use bulklink::testing::FakeClock;
use bulklink::{Builder, Bulkhead, Registry};

use crate::TestBulkhead;

fn builder(label: &str) -> Builder<FakeClock> {
    Bulkhead::builder_on(FakeClock::new(), label).parallelism(1)
}

fn create(registry: &Registry, label: &str) -> TestBulkhead {
    registry.create(builder(label)).expect("a new name")
}

fn labels(registry: &Registry) -> Vec<String> {
    registry.handles().iter().map(|handle| handle.label().to_owned()).collect()
}
