//! Bulkheads on smol, and on any executor: at most N operations at once, a bounded FIFO waiting
//! room, a limit on the wait, and an immediate rejection for the rest.
//!
//! This is the API of the crate [`bulklink`], with the timers and tasks of smol. A call runs in a
//! *slot*, waits for one in the *waiting room*, or gets a [`Rejection`].
//!
//! ```
//! use bulklink_smol::Bulkhead;
//! use std::time::Duration;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! smol::block_on(async {
//!     let payments = Bulkhead::builder("payments")
//!         .parallelism(10)
//!         .waiting_room(50)
//!         .wait_limit(Duration::from_secs(2))
//!         .build()?;
//!
//!     let receipt = payments.execute(async { "paid" }).await?;
//! #   assert_eq!(receipt, "paid");
//!     Ok(())
//! })
//! # }
//! ```
//!
//! # Which method do I want?
//!
//! | the call | method of [`Bulkhead`] |
//! | --- | --- |
//! | runs a future in a slot | [`execute`] |
//! | runs a future that returns a `Result` | [`execute_fallible`] |
//! | is spawned, or is the future of a service | [`owned`]`().execute(…)` |
//! | holds a slot as a guard | [`slot`] |
//! | holds a slot beyond its borrow, as through a body | [`owned`]`().slot()` |
//! | does not wait | [`try_slot`], and [`Request::now`](bulklink::Request::now) |
//! | runs in the background, with a handle | [`submit`], [`submit_blocking`] |
//! | blocks its thread | [`blocking_execute`], [`blocking_slot`] |
//! | has a cost, a limit or a deadline of its own | [`within`], [`with`] and a [`Request`] |
//!
//! [`execute`]: bulklink::Bulkhead::execute
//! [`execute_fallible`]: bulklink::Bulkhead::execute_fallible
//! [`owned`]: bulklink::Bulkhead::owned
//! [`slot`]: bulklink::Bulkhead::slot
//! [`try_slot`]: bulklink::Bulkhead::try_slot
//! [`submit`]: bulklink::Bulkhead::submit
//! [`submit_blocking`]: bulklink::Bulkhead::submit_blocking
//! [`blocking_execute`]: bulklink::Bulkhead::blocking_execute
//! [`blocking_slot`]: bulklink::Bulkhead::blocking_slot
//! [`within`]: bulklink::Bulkhead::within
//! [`with`]: bulklink::Bulkhead::with
//!
//! A bulkhead for each tenant, host or account is in [`Partitions`]: its
//! [`key`](bulklink::Partitions::key) has all these methods; named bulkheads are in a
//! [`Registry`], and one in a `static` is a [`StaticBulkhead`].
//!
//! # Executors
//!
//! Smol has no runtime that a call belongs to. Its timers work everywhere: a thread in
//! `smol::block_on` drives them, or a thread of smol's own if there is none. So these bulkheads
//! work on [`smol::Executor`], on `LocalExecutor`, in a bare `block_on`, on several of these at the
//! same time, and on executors of other crates. A bulkhead in a `static` serves them all.
//!
//! An executor matters only for operations that run in the background.
//! [`submit`](bulklink::Bulkhead::submit) runs a future on the executor behind [`smol::spawn`]. Its
//! threads start at the first call: one, unless the environment variable `SMOL_THREADS` sets
//! another number. A program that runs its own executor names it by [`SmolOn`].
//! [`submit_blocking`](bulklink::Bulkhead::submit_blocking) runs a closure in the pool of
//! [`smol::unblock`]. Apart from these, a bulkhead spawns nothing.
//!
//! ```
//! use bulklink_smol::Bulkhead;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # smol::block_on(async {
//! let reports = Bulkhead::builder("reports").parallelism(2).waiting_room(100).build()?;
//! let report = reports.submit(async { "42 pages" })?;
//! let digest = reports.submit_blocking(|| (0..1000_u64).sum::<u64>())?;
//! println!("{}, {}", report.await?, digest.await?);
//! # Ok(())
//! # })
//! # }
//! ```
//!
//! # Threads
//!
//! Code that blocks its thread uses the same bulkhead, by the methods named `blocking_…`, such as
//! [`blocking_execute`](bulklink::Bulkhead::blocking_execute): for example in [`smol::unblock`].
//!
//! ```
//! # use bulklink_smol::Bulkhead;
//! # smol::block_on(async {
//! let files = Bulkhead::builder("files").parallelism(4).waiting_room(100).build()?;
//! let read = move || files.blocking_execute(|| std::fs::read("Cargo.toml"));
//! let read = smol::unblock(read);
//! # assert!(read.await?.is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Time
//!
//! The clock is `std::time::Instant`. The time of smol can be neither paused nor advanced: a test
//! of limits either waits in real time, or uses [`bulklink::testing`] instead of this crate.
//! [`StdClock::to_std`] converts [`Event::at`] to that clock.
//!
//! Each call that waits with a limit or a deadline has its own timer; other calls have none. There
//! is no [driver](bulklink::runtime::Driver): it would be a task on an executor, and no executor of
//! smol is certain to run it soon. The executor of `smol::spawn` has one thread, which any task of
//! the program may keep busy.

#![doc(html_root_url = "https://docs.rs/bulklink-smol/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
// Features of other crates, which this one turns on.
#![cfg_attr(docsrs, allow(unexpected_cfgs))]
#![cfg_attr(docsrs, doc(auto_cfg(hide(feature = "histogram", feature = "restriction", feature = "std"))))]
#![forbid(unsafe_code)]

mod clock;
mod on;

use std::future::Future;

use bulklink::runtime::{Spawn, SpawnBlocking};
pub use bulklink::runtime::{SpawnError, TimerError};
pub use bulklink::{
    Bound, Builder, CapacityReport, Ceiling, Closed, CollectiveError, Event, EventFilter, EventKind, EventReceiver,
    ExecuteError, FailureCause, Figures, Finding, FindingCode, GateEvent, GateReport, Handle, HandlerId, Histogram,
    Interval, IntervalError, InvalidArgument, JoinError, JoinHandle, Limits, Load, MemberFailure, Occupancy, OwnedSlot,
    Panic, Readiness, Reason, ReconfigureError, Reconfigured, RegisterError, Registry, Rejection, Reserve, ResizeError,
    Resized, Restriction, Severity, Slot, Snapshot, Status, StdClock, SubmitError, Totals, TryRecvError, config, limit,
    partitions, testing,
};
pub use clock::SmolSleep;
pub use on::{BulkheadOn, SmolOn};

/// A [`bulklink::Bulkhead`] on smol, with all of its methods, which are on that page.
///
/// ```
/// use bulklink_smol::Bulkhead;
/// use std::time::Duration;
///
/// # smol::block_on(async {
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
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Bulkhead = bulklink::Bulkhead<Smol>;

/// A [`bulklink::StaticBulkhead`] on smol.
///
/// ```
/// use bulklink_smol::{Limits, Rejection, Smol, StaticBulkhead};
///
/// static PAYMENTS: StaticBulkhead =
///     StaticBulkhead::new("payments", Smol, Limits::new(10).with_waiting_room(50));
///
/// async fn pay() -> Result<&'static str, Rejection> {
///     PAYMENTS.execute(async { "paid" }).await
/// }
/// ```
pub type StaticBulkhead = bulklink::StaticBulkhead<Smol>;

/// A [`bulklink::Request`] with deadlines of the standard library.
///
/// ```
/// use bulklink_smol::{Bulkhead, Request};
/// use std::time::{Duration, Instant};
///
/// # smol::block_on(async {
/// let reports = Bulkhead::builder("reports").capacity(8).waiting_room(20).build()?;
/// let deadline = Instant::now() + Duration::from_millis(250);
/// let slot = reports.with(Request::new().cost(3).before(deadline)).slot().await?;
/// # assert_eq!(slot.cost(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Request = bulklink::Request<std::time::Instant>;

/// [`bulklink::Partitions`] on smol. The methods are on that page.
///
/// ```
/// use bulklink_smol::Partitions;
///
/// # smol::block_on(async {
/// let tenants: Partitions<String> = Partitions::builder("tenants")
///     .parallelism(5)
///     .waiting_room(20)
///     .max_partitions(10_000)
///     .build()?;
///
/// let answer = tenants.key("ann").execute(async { "done" }).await?;
/// # assert_eq!(answer, "done");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Partitions<K, S = partitions::RandomState> = bulklink::Partitions<K, Smol, S>;

/// A [`bulklink::BoundRequest`] on smol: a call that has not been made yet.
pub type BoundRequest = bulklink::BoundRequest<Smol>;

/// A [`bulklink::SlotFuture`] on smol.
pub type SlotFuture<'a> = bulklink::SlotFuture<'a, Smol>;

/// A [`bulklink::OwnedSlotFuture`] on smol.
pub type OwnedSlotFuture = bulklink::OwnedSlotFuture<Smol>;

/// A [`bulklink::ExecuteOwned`] on smol.
pub type ExecuteOwned<F> = bulklink::ExecuteOwned<F, Smol>;

/// A [`bulklink::ExecuteFallibleOwned`] on smol.
pub type ExecuteFallibleOwned<F> = bulklink::ExecuteFallibleOwned<F, Smol>;

/// A [`bulklink::Wrapped`] function on smol.
pub type Wrapped<F> = bulklink::Wrapped<F, Smol>;

/// Smol's timers, on whatever executor a call is polled, and the executor behind [`smol::spawn`]
/// for tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Smol;

impl Spawn for Smol {
    /// Never refuses.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Result<(), SpawnError> {
        smol::spawn(task).detach();
        Ok(())
    }
}

impl SpawnBlocking for Smol {
    /// Never refuses. While all threads of the pool are busy, the closure waits for one, in its
    /// slot.
    fn spawn_blocking(&self, work: impl FnOnce() + Send + 'static) -> Result<(), SpawnError> {
        smol::unblock(work).detach();
        Ok(())
    }
}
