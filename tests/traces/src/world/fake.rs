//! A world on the front's fake clock and deterministic executor.

use std::future::Future;

use bulklink::runtime::Clock;
use bulklink::testing::{Executor, FakeClock};
use bulklink_core::Instant;

use super::World;
use crate::subject;

pub struct FakeWorld(Executor);

impl World for FakeWorld {
    type Runtime = FakeClock;

    fn new() -> Self {
        FakeWorld(Executor::new(FakeClock::at(subject::instant(0))))
    }

    fn runtime(&self) -> FakeClock {
        self.0.clock()
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }

    fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) -> Box<dyn FnOnce()> {
        let task = self.0.spawn(task);
        Box::new(move || task.cancel())
    }

    fn settle(&mut self) {
        self.0.run_until_idle();
    }

    fn pass_time(&mut self, to: Instant) {
        let passed = to.saturating_since(Clock::now(&self.0.clock()));
        self.0.advance(passed);
    }

    fn act<T>(&self, action: impl FnOnce() -> T) -> T {
        action()
    }
}
