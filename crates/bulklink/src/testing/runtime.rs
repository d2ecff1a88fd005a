//! The deterministic executor as a runtime for bulkheads.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Weak;
use core::fmt;
use core::future::Future;

use bulklink_core::Instant;
use futures_core::future::BoxFuture;

use super::{FakeClock, FakeSleep};
use crate::gate::lock::Lock;
use crate::{Clock, Spawn, SpawnBlocking, SpawnError, Timer};

/// A [`FakeClock`] together with the [`Executor`](super::Executor) that runs on its time.
///
/// Made by [`Executor::runtime`](super::Executor::runtime).
///
/// Operations can be submitted from any thread; they run when the executor runs. Tasks run in the
/// order in which they were submitted. Closures that may block run as if they were tasks, one after
/// the other, each to its end.
#[derive(Clone)]
pub struct FakeRuntime {
    pub(super) clock: FakeClock,
    pub(super) inbox: Weak<Lock<VecDeque<BoxFuture<'static, ()>>>>,
}

impl FakeRuntime {
    /// Returns the clock of the runtime.
    #[must_use]
    pub fn clock(&self) -> &FakeClock {
        &self.clock
    }
}

impl Clock for FakeRuntime {
    type Instant = Instant;

    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }

    #[cfg(feature = "std")]
    fn blocking_sleep_until(&self, deadline: Instant) -> Option<BoxFuture<'static, ()>> {
        self.clock.blocking_sleep_until(deadline)
    }
}

impl Timer for FakeRuntime {
    type Sleep = FakeSleep;

    fn sleep_until(&self, deadline: Instant) -> FakeSleep {
        self.clock.sleep_until(deadline)
    }
}

impl Spawn for FakeRuntime {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Result<(), SpawnError> {
        let inbox = self.inbox.upgrade().ok_or(SpawnError::new("the executor is gone"))?;
        let task = Box::pin(task);
        inbox.with(|tasks| tasks.push_back(task));
        Ok(())
    }
}

impl SpawnBlocking for FakeRuntime {
    fn spawn_blocking(&self, work: impl FnOnce() + Send + 'static) -> Result<(), SpawnError> {
        self.spawn(async move { work() })
    }
}

impl fmt::Debug for FakeRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeRuntime").field("clock", &self.clock).finish_non_exhaustive()
    }
}
