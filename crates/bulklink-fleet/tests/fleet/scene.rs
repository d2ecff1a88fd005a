//! A store and processes on it.

use std::time::Duration;

use bulklink::testing::{Executor, FakeClock, FakeRuntime, Task};
use bulklink_fleet::{BulkheadBuilder, Fleet, FleetBulkhead, MemoryStore, Permit, Rejection};

pub(crate) type Outcome = Result<Permit, Rejection>;

pub(crate) struct Scene {
    pub(crate) executor: Executor,
    pub(crate) store: MemoryStore,
}

/// A process and its bulkhead.
pub(crate) struct Process {
    pub(crate) fleet: Fleet<FakeRuntime>,
    pub(crate) bulkhead: FleetBulkhead<FakeRuntime>,
}

pub(crate) const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

impl Scene {
    pub(crate) fn new() -> Self {
        let executor = Executor::new(FakeClock::new());
        let store = MemoryStore::new(executor.clock());
        Self { executor, store }
    }

    pub(crate) fn fleet(&mut self) -> Fleet<FakeRuntime> {
        let builder = Fleet::builder(self.store.clone(), self.executor.runtime()).namespace("test");
        let fleet = builder.build().expect("the values are valid");
        self.executor.run_until_idle();
        fleet
    }

    /// Adds a process with a bulkhead of `limit` units and room for 100 waiters.
    pub(crate) fn process(&mut self, limit: u64) -> Process {
        self.process_with(|builder| builder.limit(limit).waiting_room(100))
    }

    pub(crate) fn process_with(
        &mut self,
        options: impl FnOnce(BulkheadBuilder<FakeRuntime>) -> BulkheadBuilder<FakeRuntime>,
    ) -> Process {
        let fleet = self.fleet();
        let bulkhead = options(fleet.bulkhead("payments")).build().expect("the values are valid");
        self.executor.run_until_idle();
        Process { fleet, bulkhead }
    }

    /// Begins a call, which has asked the store when this returns.
    pub(crate) fn acquire(&mut self, process: &Process) -> Task<Outcome> {
        let bulkhead = process.bulkhead.clone();
        let task = self.executor.spawn(async move { bulkhead.acquire().await });
        self.executor.run_until_idle();
        task
    }

    /// Returns the permit of a call that is admitted immediately.
    pub(crate) fn permit(&mut self, process: &Process) -> Permit {
        let task = self.acquire(process);
        task.output().expect("the call is over").expect("the call is admitted")
    }

    /// Drops a permit, and lets all that follows happen.
    pub(crate) fn release(&mut self, permit: Permit) {
        drop(permit);
        self.executor.run_until_idle();
    }

    pub(crate) fn advance(&mut self, by: u64) {
        self.executor.advance(millis(by));
    }
}

/// Takes the permit of a call that must have one.
pub(crate) fn admitted(task: &Task<Outcome>) -> Permit {
    task.output().expect("the call is over").expect("the call is admitted")
}

/// Takes the rejection of a call that must have one.
pub(crate) fn rejected(task: &Task<Outcome>) -> Rejection {
    task.output().expect("the call is over").expect_err("the call is rejected")
}
