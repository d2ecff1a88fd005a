//! Processes on one store, in fake time.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use bulklink::runtime::Instant;
use bulklink::testing::{Executor, FakeClock, FakeRuntime, Task};
use bulklink::{Bulkhead, OwnedSlot, Rejection, Request};
use bulklink_fleet::{Fleet, FleetShare, JoinError, LeaseStore, MemoryStore, ShareBuilder};

use crate::slow::{Slow, Weather};

/// A call, which has its slot when it is over.
pub(crate) type Call = Task<Result<OwnedSlot, Rejection>>;

pub(crate) struct Scene {
    pub(crate) executor: Executor,
    pub(crate) store: MemoryStore,
}

/// A process with one bulkhead, and its share.
pub(crate) struct Process {
    pub(crate) fleet: Fleet<FakeRuntime>,
    pub(crate) bulkhead: Bulkhead<FakeRuntime>,
    pub(crate) share: FleetShare<FakeRuntime>,
}

/// The texts of an error and of its causes.
pub(crate) fn texts(error: &(dyn Error + 'static)) -> String {
    let all = std::iter::successors(Some(error), |&error| error.source());
    all.map(ToString::to_string).collect::<Vec<_>>().join(": ")
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

    /// The store, where each statement takes so many milliseconds.
    pub(crate) fn slow(&self, statement_millis: u64) -> Slow {
        let weather = Arc::<Weather>::default();
        weather.statement_millis.store(statement_millis, SeqCst);
        Slow { inner: self.store.clone(), runtime: self.executor.runtime(), weather, began: None }
    }

    pub(crate) fn fleet(&self) -> Fleet<FakeRuntime> {
        self.fleet_on(self.store.clone())
    }

    pub(crate) fn fleet_on(&self, store: impl LeaseStore) -> Fleet<FakeRuntime> {
        let builder = Fleet::builder(store, self.executor.runtime()).namespace("test");
        builder.build().expect("the values are valid")
    }

    pub(crate) fn bulkhead(&self) -> Bulkhead<FakeRuntime> {
        self.named("payments")
    }

    pub(crate) fn named(&self, label: &str) -> Bulkhead<FakeRuntime> {
        let builder = Bulkhead::builder_on(self.executor.runtime(), label);
        builder.parallelism(100).waiting_room(1_000).build().expect("the values are valid")
    }

    pub(crate) fn join(
        &mut self,
        fleet: &Fleet<FakeRuntime>,
        bulkhead: &Bulkhead<FakeRuntime>,
        options: impl FnOnce(ShareBuilder<FakeRuntime>) -> ShareBuilder<FakeRuntime>,
    ) -> Task<Result<FleetShare<FakeRuntime>, JoinError>> {
        let builder = options(fleet.share(bulkhead).limit(4));
        let task = self.executor.spawn(builder.connect());
        self.executor.run_until_idle();
        task
    }

    pub(crate) fn process_with(
        &mut self,
        options: impl FnOnce(ShareBuilder<FakeRuntime>) -> ShareBuilder<FakeRuntime>,
    ) -> Process {
        let (fleet, bulkhead) = (self.fleet(), self.bulkhead());
        let share = self.join(&fleet, &bulkhead, options).output().expect("the store answers").expect("it joins");
        Process { fleet, bulkhead, share }
    }

    pub(crate) fn process(&mut self) -> Process {
        self.process_with(|builder| builder)
    }

    pub(crate) fn call(&mut self, process: &Process) -> Call {
        self.call_on(&process.bulkhead, Request::new())
    }

    pub(crate) fn call_of(&mut self, process: &Process, request: Request<Instant>) -> Call {
        self.call_on(&process.bulkhead, request)
    }

    pub(crate) fn call_on(&mut self, bulkhead: &Bulkhead<FakeRuntime>, request: Request<Instant>) -> Call {
        let slot = bulkhead.with(request).slot();
        let task = self.executor.spawn(slot);
        self.executor.run_until_idle();
        task
    }

    pub(crate) fn slots(&mut self, process: &Process, count: usize) -> Vec<OwnedSlot> {
        (0..count).map(|_| self.call(process).output().expect("it is over").expect("it is admitted")).collect()
    }

    pub(crate) fn advance(&mut self, by: u64) {
        self.executor.advance(millis(by));
    }
}
