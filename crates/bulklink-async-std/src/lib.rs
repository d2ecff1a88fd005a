//! Bulkheads on async-std: at most N operations at once, a bounded FIFO waiting room, a limit on
//! the wait, and an immediate rejection for the rest.
//!
//! This is the API of the crate [`bulklink`], with the timers and tasks of async-std. A call runs
//! in a *slot*, waits for one in the *waiting room*, or gets a [`Rejection`].
//!
//! <div class="warning">
//!
//! async-std is discontinued, and its authors recommend smol. This crate is for programs that still
//! run on it. New programs should use [`bulklink-smol`](https://docs.rs/bulklink-smol), which has
//! the same timers and the same names.
//!
//! </div>
//!
//! ```
//! use bulklink_async_std::Bulkhead;
//! use std::time::Duration;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! async_std::task::block_on(async {
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
//! A process has one async-std. Its timers work everywhere, driven by a thread of their own if no
//! other thread does so, so a call may be polled on any executor.
//! [`submit`](bulklink::Bulkhead::submit) runs a future by [`async_std::task::spawn`], and
//! [`submit_blocking`](bulklink::Bulkhead::submit_blocking) a closure by [`spawn_blocking`][pool].
//! Apart from these, a bulkhead spawns nothing.
//!
//! # Threads
//!
//! Code that blocks its thread uses the same bulkhead, by the methods named `blocking_…`, such as
//! [`blocking_execute`](bulklink::Bulkhead::blocking_execute): for example in
//! [`async_std::task::spawn_blocking`][pool].
//!
//! ```
//! # use bulklink_async_std::Bulkhead;
//! # async_std::task::block_on(async {
//! let files = Bulkhead::builder("files").parallelism(4).waiting_room(100).build()?;
//! let read = move || files.blocking_execute(|| std::fs::read("Cargo.toml"));
//! let read = async_std::task::spawn_blocking(read);
//! # assert!(read.await?.is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Time
//!
//! The clock is `std::time::Instant`. The time of async-std can be neither paused nor advanced: a
//! test of limits either waits in real time, or uses [`bulklink::testing`] instead of this crate.
//! [`StdClock::to_std`] converts [`Event::at`] to that clock.
//!
//! Each call that waits with a limit or a deadline has its own timer; other calls have none. There
//! is no [driver](bulklink::runtime::Driver): it would be a task among those of the program. While
//! these keep all threads busy, it could not expire calls that wait in a `block_on` on other
//! threads.
//!
//! [pool]: https://docs.rs/async-std/latest/async_std/task/fn.spawn_blocking.html

#![doc(html_root_url = "https://docs.rs/bulklink-async-std/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
// Features of other crates, which this one turns on.
#![cfg_attr(docsrs, allow(unexpected_cfgs))]
#![cfg_attr(docsrs, doc(auto_cfg(hide(feature = "histogram", feature = "restriction", feature = "std"))))]
#![forbid(unsafe_code)]

mod clock;

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
pub use clock::AsyncStdSleep;

/// A [`bulklink::Bulkhead`] on async-std, with all of its methods, which are on that page.
///
/// ```
/// use bulklink_async_std::Bulkhead;
/// use std::time::Duration;
///
/// # async_std::task::block_on(async {
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
pub type Bulkhead = bulklink::Bulkhead<AsyncStd>;

/// A [`bulklink::StaticBulkhead`] on async-std.
///
/// ```
/// use bulklink_async_std::{AsyncStd, Limits, Rejection, StaticBulkhead};
///
/// static PAYMENTS: StaticBulkhead =
///     StaticBulkhead::new("payments", AsyncStd, Limits::new(10).with_waiting_room(50));
///
/// async fn pay() -> Result<&'static str, Rejection> {
///     PAYMENTS.execute(async { "paid" }).await
/// }
/// ```
pub type StaticBulkhead = bulklink::StaticBulkhead<AsyncStd>;

/// A [`bulklink::Request`] with deadlines of the standard library.
///
/// ```
/// use bulklink_async_std::{Bulkhead, Request};
/// use std::time::{Duration, Instant};
///
/// # async_std::task::block_on(async {
/// let reports = Bulkhead::builder("reports").capacity(8).waiting_room(20).build()?;
/// let deadline = Instant::now() + Duration::from_millis(250);
/// let slot = reports.with(Request::new().cost(3).before(deadline)).slot().await?;
/// # assert_eq!(slot.cost(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Request = bulklink::Request<std::time::Instant>;

/// [`bulklink::Partitions`] on async-std. The methods are on that page.
///
/// ```
/// use bulklink_async_std::Partitions;
///
/// # async_std::task::block_on(async {
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
pub type Partitions<K, S = partitions::RandomState> = bulklink::Partitions<K, AsyncStd, S>;

/// A [`bulklink::BoundRequest`] on async-std: a call that has not been made yet.
pub type BoundRequest = bulklink::BoundRequest<AsyncStd>;

/// A [`bulklink::SlotFuture`] on async-std.
pub type SlotFuture<'a> = bulklink::SlotFuture<'a, AsyncStd>;

/// A [`bulklink::OwnedSlotFuture`] on async-std.
pub type OwnedSlotFuture = bulklink::OwnedSlotFuture<AsyncStd>;

/// A [`bulklink::ExecuteOwned`] on async-std.
pub type ExecuteOwned<F> = bulklink::ExecuteOwned<F, AsyncStd>;

/// A [`bulklink::ExecuteFallibleOwned`] on async-std.
pub type ExecuteFallibleOwned<F> = bulklink::ExecuteFallibleOwned<F, AsyncStd>;

/// A [`bulklink::Wrapped`] function on async-std.
pub type Wrapped<F> = bulklink::Wrapped<F, AsyncStd>;

/// The async-std of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AsyncStd;

impl Spawn for AsyncStd {
    /// Never refuses.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Result<(), SpawnError> {
        drop(async_std::task::spawn(task));
        Ok(())
    }
}

impl SpawnBlocking for AsyncStd {
    /// Never refuses. While all threads of the pool are busy, the closure waits for one, in its
    /// slot.
    fn spawn_blocking(&self, work: impl FnOnce() + Send + 'static) -> Result<(), SpawnError> {
        drop(async_std::task::spawn_blocking(work));
        Ok(())
    }
}
