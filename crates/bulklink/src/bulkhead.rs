//! The bulkhead. Its page lists the methods of these modules, in their order.

mod build;

mod acquire;
mod execute;
mod forward;

use alloc::sync::Arc;
use core::fmt;

use crate::Handle;
#[cfg(doc)]
use crate::Request;
use crate::gate::shared::Shared;

/// Limits how many operations run at the same time on one resource, how many wait, and how long.
///
/// Clones are cheap and share everything. [`with`](Bulkhead::with) binds a [`Request`], with a
/// cost, a limit or a deadline, to the bulkhead. What needs no runtime (status, limits, pause,
/// close, events) is on its [handle](Bulkhead::handle), with more than the usual methods here.
///
/// ```
/// use bulklink_tokio::Bulkhead;
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let payments = Bulkhead::builder("payments")
///     .parallelism(10)
///     .waiting_room(50)
///     .wait_limit(Duration::from_secs(2))
///     .build()?;
///
/// // Runs an operation in a slot.
/// let receipt = payments.execute(async { "paid" }).await?;
/// # assert_eq!(receipt, "paid");
///
/// // The same as a guard, with a shorter wait for this call.
/// let slot = payments.within(Duration::from_millis(100)).slot().await?;
/// drop(slot);
///
/// // Inspects it, changes it, and ends it.
/// assert_eq!(payments.status().totals.admitted, 2);
/// payments.resize(20)?;
/// payments.close_and_wait().await;
/// # Ok(())
/// # }
/// ```
///
/// `R` is the runtime. Calls that never wait and calls that block their thread need only its
/// [`Clock`](crate::runtime::Clock); futures also need its [`Timer`](crate::runtime::Timer), and so
/// a [`Runtime`](crate::runtime::Runtime). A program without an async runtime uses a
/// `Bulkhead<StdClock>`; see [Threads](crate#threads).
///
/// A slot may outlive the tasks that wait for it, and a bulkhead may outlive the runtime: one in a
/// `static` serves any number of runtimes, one after the other or at the same time.
///
/// The clocks of two runtimes can differ, as under paused time. Each limit and deadline then counts
/// by the clock of the runtime that the call waits on, and from no later instant than the call's
/// own. It passes earlier if, while the call waits, another call or a release comes from a runtime
/// whose clock is ahead.
#[derive(Clone)]
#[doc(alias = "semaphore")]
pub struct Bulkhead<R> {
    handle: Handle,
    runtime: R,
}

/// # Without the runtime
impl<R> Bulkhead<R> {
    pub(crate) fn new(shared: Arc<Shared>, runtime: R) -> Self {
        Bulkhead { handle: Handle { shared }, runtime }
    }

    /// Returns the runtime that the bulkhead was built on.
    pub fn runtime(&self) -> &R {
        &self.runtime
    }

    /// Returns the bulkhead without its runtime.
    #[must_use]
    pub fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl<R> AsRef<Handle> for Bulkhead<R> {
    fn as_ref(&self) -> &Handle {
        &self.handle
    }
}

impl<R> fmt::Debug for Bulkhead<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handle.fmt(f)
    }
}
