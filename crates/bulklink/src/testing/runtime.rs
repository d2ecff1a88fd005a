//! The deterministic executor, seen from bulkheads that submit to it.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::{Arc, Weak};
use core::fmt;
use core::future::Future;
use core::pin::Pin;

use bulklink_core::Instant;

use super::{FakeClock, FakeSleep};
use crate::gate::lock::Lock;
use crate::{Clock, Spawn, SpawnBlocking, SpawnError, Timer};

/// A [`FakeClock`], and the [`Executor`](super::Executor) that runs in its time; made by
/// [`Executor::runtime`](super::Executor::runtime).
///
/// What is submitted from anywhere runs when the executor does: tasks in the order in which they came, and closures that may
/// block as if they were tasks, one after the other, each to its end.
#[derive(Clone)]
pub struct FakeRuntime {
    clock: FakeClock,
    inbox: Weak<Inbox>,
}

type Incoming = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Tasks on their way to an executor.
pub(super) struct Inbox(Lock<VecDeque<Incoming>>);

impl Inbox {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Inbox(Lock::new(VecDeque::new())))
    }

    pub(super) fn take(&self) -> Option<Incoming> {
        self.0.with(VecDeque::pop_front)
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("len", &self.0.with(|tasks| tasks.len())).finish()
    }
}

impl FakeRuntime {
    pub(super) fn new(clock: FakeClock, inbox: &Arc<Inbox>) -> Self {
        FakeRuntime { clock, inbox: Arc::downgrade(inbox) }
    }

    /// The clock in whose time it runs.
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
    fn blocking_sleep_until(&self, deadline: Instant) -> Option<Pin<Box<dyn Future<Output = ()> + Send>>> {
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
        inbox.0.with(|tasks| tasks.push_back(task));
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
