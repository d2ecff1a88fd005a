//! Configurations: the accepted ones, and their changes in a registry.

mod adding;
mod changing;
mod load;
mod model;
mod partitions;
mod races;
mod removing;
mod required;
mod shared;
mod values;

use bulklink::config::{Applied, ApplyError, BulkheadConfig, Config, PartitionsConfig};
use bulklink::partitions::RandomState;
use bulklink::testing::{Executor, FakeClock};
use bulklink::{Partitions, Registry};

use crate::TestBulkhead;

/// A registry, and what its members run on.
struct World {
    executor: Executor,
    clock: FakeClock,
    registry: Registry,
    config: Config,
}

impl World {
    fn new() -> Self {
        let executor = crate::executor();
        World { clock: executor.clock(), executor, registry: Registry::new(), config: Config::default() }
    }

    fn section(&mut self, label: &str) -> &mut BulkheadConfig {
        self.config.bulkheads.entry(label.to_owned()).or_default()
    }

    fn partitions_section(&mut self, label: &str) -> &mut PartitionsConfig {
        self.config.partitions.entry(label.to_owned()).or_default()
    }

    fn apply(&self) -> Result<Applied, ApplyError> {
        self.registry.apply(&self.config, &self.clock)
    }

    /// Returns the text of the changes.
    fn applied(&self) -> String {
        let before = self.shapes();
        self.registry.check(&self.config, &self.clock).expect("valid");
        assert_eq!(self.shapes(), before, "a check changes nothing");
        self.apply().expect("valid").to_string()
    }

    /// Returns the text of why nothing is changed.
    fn refused(&self) -> String {
        let before = self.shapes();
        let checked = self.registry.check(&self.config, &self.clock).expect_err("refused");
        let error = self.apply().expect_err("refused");
        assert_eq!(checked, error);
        assert_eq!(self.shapes(), before, "nothing has changed");
        crate::chain(&error).replacen("the configuration was not applied: ", "", 1)
    }

    fn bulkhead(&self, label: &str) -> TestBulkhead {
        self.registry.bulkhead(label).expect("a bulkhead")
    }

    fn partitions(&self, label: &str) -> Partitions<String, FakeClock> {
        self.registry.partitions::<String, FakeClock, RandomState>(label).expect("partitions")
    }

    /// Returns the settings of all members that the configuration decides on.
    fn shapes(&self) -> Vec<String> {
        let bulkheads = self.registry.handles();
        let bulkheads = bulkheads.iter().map(|handle| format!("{} {:?}", handle.label(), handle.limits()));
        let partitions = self.registry.partition_handles();
        let partitions = partitions.iter().map(|handle| format!("{} {:?}", handle.label(), handle.status().each));
        let mut shapes: Vec<_> = bulkheads.chain(partitions).collect();
        shapes.sort();
        shapes
    }
}
