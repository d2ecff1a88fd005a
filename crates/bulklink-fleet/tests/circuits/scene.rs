//! A store in memory and processes on it, on virtual time.

use std::error::Error;
use std::time::Duration;

use bulklink::testing::{Executor, FakeClock, Task};
use bulklink_breaker::{Breaker, BreakerError, Settings};
use bulklink_fleet::MemoryStore;
use bulklink_fleet::circuits::{Circuits, Sharing};

pub(crate) struct Scene {
    pub(crate) executor: Executor,
    pub(crate) store: MemoryStore,
    pub(crate) settings: Settings,
}

/// A process with one breaker.
pub(crate) struct Process {
    pub(crate) circuits: Circuits<MemoryStore>,
    pub(crate) breaker: Breaker,
}

impl Process {
    pub(crate) fn sharing(&self) -> Sharing {
        self.circuits.sharing(&self.breaker).expect("it is shared")
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.sharing().is_connected
    }
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
    /// Circuits that open at the third failure in a row, for ten seconds.
    pub(crate) fn new() -> Self {
        let executor = Executor::new(FakeClock::new());
        executor.clock().advance(millis(1_000_000));
        let store = MemoryStore::new(executor.clock());
        let settings = Settings::consecutive(3).cool_down(millis(10_000)).probe_lease(millis(2_000));
        Scene { executor, store, settings }
    }

    pub(crate) fn process(&mut self) -> Process {
        let circuits = Circuits::builder(self.store.clone(), self.executor.runtime()).namespace("test");
        let circuits = circuits.build().expect("the values are valid");
        let breaker = Breaker::builder_on(self.executor.clock(), "payments").settings(self.settings);
        let breaker = circuits.share(breaker).expect("the values are valid");
        self.executor.run_until_idle();
        Process { circuits, breaker }
    }

    /// Runs calls that succeed or fail, each to its end. Returns how many were let through.
    pub(crate) fn call(&mut self, process: &Process, results: &[bool]) -> usize {
        let mut let_through = 0;
        for is_good in results.iter().copied() {
            let breaker = process.breaker.clone();
            let operation = async move { if is_good { Ok(()) } else { Err("failed") } };
            let result = self.executor.spawn(async move { breaker.execute(operation).await });
            self.executor.run_until_idle();
            let result = result.output().expect("the call is over");
            let_through += usize::from(!matches!(result, Err(BreakerError::Open(_))));
        }
        let_through
    }

    /// Begins a call that takes `time`.
    pub(crate) fn begin(&mut self, process: &Process, time: u64, is_good: bool) -> Task<Result<(), BreakerError<()>>> {
        let breaker = process.breaker.clone();
        let clock = self.executor.clock();
        let operation = async move {
            clock.sleep(millis(time)).await;
            if is_good { Ok(()) } else { Err(()) }
        };
        let task = self.executor.spawn(async move { breaker.execute(operation).await });
        self.executor.run_until_idle();
        task
    }

    pub(crate) fn advance(&mut self, by: u64) {
        self.executor.advance(millis(by));
    }
}
