//! [Bulklink](bulklink) on tokio: its clock, its timers, its tasks, and nothing else.
//!
//! [`Bulkhead`] is [`bulklink::Bulkhead`] with the runtime filled in; everything said there holds here.
//!
//! ```
//! use bulklink_tokio::{Bulkhead, Rejection};
//! use std::time::Duration;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let payments = Bulkhead::builder("payments")
//!     .parallelism(10)
//!     .waiting_room(50)
//!     .wait_limit(Duration::from_secs(2))
//!     .build()?;
//!
//! let receipt = payments.execute(async { "paid" }).await?;
//! # assert_eq!(receipt, "paid");
//! # Ok(())
//! # }
//! ```
//!
//! # Time
//!
//! The clock is `tokio::time::Instant`, so a test that pauses or advances tokio's time moves the bulkhead's too. A bulkhead
//! belongs to no runtime: one in a `static` outlives the runtime that used it and works on the next, whatever their clocks say.
//!
//! With the feature `tsc` there is a second kind of bulkhead, in the module `tsc`, whose clock costs less to read and knows nothing
//! of paused time.
//!
//! Only a runtime knows of paused time: a slot that is dropped on a thread outside of it is dropped in real time.
//!
//! # Testing a service
//!
//! With tokio's time paused, the limits of a bulkhead pass at once and exactly:
//!
//! ```
//! use bulklink_tokio::{Bulkhead, Reason};
//! use std::time::Duration;
//!
//! # // A doc test cannot hold a `#[tokio::test(start_paused = true)]`.
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // #[tokio::test(start_paused = true)]
//! let reports = Bulkhead::builder("reports").parallelism(1).waiting_room(5).wait_limit(Duration::from_secs(100)).build()?;
//! let _running = reports.slot().await?;
//! let rejection = reports.slot().await.unwrap_err();
//! assert_eq!((rejection.reason(), rejection.waited()), (Reason::Expired, Duration::from_secs(100)));
//! # Ok(())
//! # }
//! ```
//!
//! # Submitting
//!
//! [`submit`](bulklink::Bulkhead::submit) runs a future as a task of the runtime that this thread is in, and
//! [`submit_blocking`](bulklink::Bulkhead::submit_blocking) a closure on its pool. Outside of a runtime both return
//! `SubmitError::Refused`, or `NoTimer` where there is a limit.
//!
//! ```
//! use bulklink_tokio::Bulkhead;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let reports = Bulkhead::builder("reports").parallelism(2).waiting_room(100).build()?;
//! let report = reports.submit(async { "42 pages" })?;
//! let digest = reports.submit_blocking(|| (0..1000_u64).sum::<u64>())?;
//! println!("{}, {}", report.await?, digest.await?);
//! # Ok(())
//! # }
//! ```
//!
//! # Threads
//!
//! Code that blocks its thread uses the same bulkhead, by the methods that begin with `blocking_`, such as
//! [`blocking_execute`](bulklink::Bulkhead::blocking_execute): for example in [`tokio::task::spawn_blocking`].
//!
//! ```
//! # use bulklink_tokio::Bulkhead;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let files = Bulkhead::builder("files").parallelism(4).waiting_room(100).build()?;
//! let read = tokio::task::spawn_blocking(move || files.blocking_execute(|| std::fs::read("Cargo.toml")));
//! # assert!(read.await??.is_ok());
//! # Ok(())
//! # }
//! ```
//!
//! # The task in the background
//!
//! While calls wait with a limit, a bulkhead has one task on each runtime that they wait on, and it shows in the runtime's
//! metrics. It expires the calls that are late there, and event handlers may run in it. It holds no bulkhead alive. It ends
//! with its bulkhead, when its partition becomes idle, or when the time that its timer was set to has come and no call waits
//! with a limit. Under paused time, that timer is one of those to which tokio moves the clock.
//!
//! # Cooperation
//!
//! Calls that are awaited and complete through the gate, rejections included, take part in tokio's
//! [budget](tokio::task::coop), and so do events that are received and operations that are joined: a loop of rejected
//! `slot().await` lets other tasks run. `try_slot` and its kin cannot, as they are not awaited, and `closed()` does not.
//!
//! The fast path does not take part either, since that would cost 6 ns on 10. A loop that always gets a free slot yields after
//! some thousands of slots, about every 0.1 ms. A loop that also calls `status()`, or runs beside a task that does so as often,
//! never yields; add [`consume_budget`](tokio::task::consume_budget) there.
//!
//! If a task has used up its budget, do not `block_on` such a future in it: that never returns. Tokio's own futures do the
//! same.
//!
//! # Panics
//!
//! A call with a limit needs a timer. Outside of a runtime, and on one built without `enable_time`, every call with a limit
//! that asks the gate panics and says so, even if there is room; [`submit`](bulklink::Bulkhead::submit) and its kin return
//! [`SubmitError::NoTimer`]. Nothing is counted then. On a new bulkhead the first call asks the gate, so the fault shows at
//! the first request. Once any call has been admitted, a call that takes a free slot by the fast path does not ask, and
//! succeeds. Tokio says that it has no timers only by a panic, which is caught once for each thread and runtime, and seen by
//! the panic hook.
//!
//! A call that still waits when its runtime is gone goes on waiting on the runtime that polls it next. If that poll is outside
//! of a runtime, or on one without timers, it panics. The call then keeps its place, or the slot that it is granted, until its
//! future is dropped.
//!
//! Calls without a limit work on any executor, and so do those that are rejected in any case.

#![forbid(unsafe_code)]

/// The README's example, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

mod clock;
mod home;
mod sleep;
#[cfg(feature = "tsc")]
pub mod tsc;

use std::future::Future;

pub use bulklink::*;
pub use sleep::TokioSleep;
#[cfg(feature = "tsc")]
pub use tsc::Tsc;

/// A [`bulklink::Bulkhead`] on tokio.
pub type Bulkhead = bulklink::Bulkhead<Tokio>;

/// A [`bulklink::Request`] whose deadlines are tokio's.
///
/// ```
/// use bulklink_tokio::{Bulkhead, Request};
/// use std::time::Duration;
/// use tokio::time::Instant;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let reports = Bulkhead::builder("reports").capacity(8).waiting_room(20).build()?;
/// let deadline = Instant::now() + Duration::from_millis(250);
/// let slot = reports.slot_with(Request::new().cost(3).before(deadline)).await?;
/// # assert_eq!(slot.cost(), 3);
/// # Ok(())
/// # }
/// ```
pub type Request = bulklink::Request<tokio::time::Instant>;

/// [`bulklink::Partitions`] on tokio.
///
/// ```
/// use bulklink_tokio::{Partitions, Reason};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let tenants: Partitions<String> = Partitions::builder("tenants")
///     .parallelism(5)
///     .waiting_room(20)
///     .max_partitions(10_000)
///     .build()?;
///
/// let answer = tenants.execute("ann", async { "done" }).await?;
/// # assert_eq!(answer, "done");
/// # Ok(())
/// # }
/// ```
pub type Partitions<K, S = partitions::RandomState> = bulklink::Partitions<K, Tokio, S>;

/// A [`bulklink::SlotFuture`] on tokio.
pub type SlotFuture<'a> = bulklink::SlotFuture<'a, Tokio>;

/// A [`bulklink::OwnedSlotFuture`] on tokio.
pub type OwnedSlotFuture = bulklink::OwnedSlotFuture<Tokio>;

/// A [`bulklink::Wrapped`] function on tokio.
pub type Wrapped<F> = bulklink::Wrapped<F, Tokio>;

/// The tokio runtime that a call happens to run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokio;

impl Spawn for Tokio {
    /// Refuses outside of a tokio runtime. One that is shutting down drops the task at once.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Result<(), SpawnError> {
        drop(here()?.spawn(task));
        Ok(())
    }
}

impl SpawnBlocking for Tokio {
    /// Refuses outside of a tokio runtime. One that has shut down drops the closure immediately. While all threads of the
    /// pool are busy, the closure waits for one, in the slot that it has, and the handle of one that is cancelled completes
    /// when a thread comes to it; if the runtime is shut down meanwhile, tokio either drops it or still runs it.
    fn spawn_blocking(&self, work: impl FnOnce() + Send + 'static) -> Result<(), SpawnError> {
        drop(here()?.spawn_blocking(work));
        Ok(())
    }
}

fn here() -> Result<tokio::runtime::Handle, SpawnError> {
    tokio::runtime::Handle::try_current().map_err(|_| SpawnError::new("there is no tokio runtime on this thread"))
}
