//! Smol with an executor that the program runs.

use std::future::Future;

use bulklink::runtime::{Clock, Instant, Spawn, SpawnBlocking, SpawnError, Timer};
use smol::Executor;

use crate::{Smol, SmolSleep};

/// A [`bulklink::Bulkhead`] on [`SmolOn`].
pub type BulkheadOn = bulklink::Bulkhead<SmolOn>;

/// [`Smol`], with the program's own executor for tasks in the background.
///
/// ```
/// use bulklink_smol::{BulkheadOn, SmolOn};
/// use smol::Executor;
///
/// static EXECUTOR: Executor<'_> = Executor::new();
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let builder = BulkheadOn::builder_on(SmolOn::new(&EXECUTOR), "reports");
/// let reports = builder.parallelism(2).waiting_room(100).build()?;
/// smol::block_on(EXECUTOR.run(async {
///     let report = reports.submit(async { "42 pages" })?;
///     println!("{}", report.await?);
///     Ok(())
/// }))
/// # }
/// ```
///
/// An executor that is made at run time must outlive its tasks. Leak it, by
/// `Box::leak(Box::new(Executor::new()))`.
#[derive(Clone, Copy, Debug)]
pub struct SmolOn(&'static Executor<'static>);

impl SmolOn {
    /// Runs tasks on `executor`, while the program runs that executor.
    #[must_use]
    pub const fn new(executor: &'static Executor<'static>) -> Self {
        SmolOn(executor)
    }
}

impl Clock for SmolOn {
    type Instant = std::time::Instant;

    #[inline]
    fn now(&self) -> Instant {
        Smol.now()
    }

    fn instant(&self, at: std::time::Instant) -> Instant {
        Smol.instant(at)
    }
}

impl Timer for SmolOn {
    type Sleep = SmolSleep;

    fn sleep_until(&self, deadline: Instant) -> SmolSleep {
        Smol.sleep_until(deadline)
    }
}

impl Spawn for SmolOn {
    /// Never refuses.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Result<(), SpawnError> {
        self.0.spawn(task).detach();
        Ok(())
    }
}

impl SpawnBlocking for SmolOn {
    /// As [`Smol`] does.
    fn spawn_blocking(&self, work: impl FnOnce() + Send + 'static) -> Result<(), SpawnError> {
        Smol.spawn_blocking(work)
    }
}
