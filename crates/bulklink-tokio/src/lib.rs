//! Bulkheads on tokio: at most N operations at once, a bounded FIFO waiting room, a limit on the
//! wait, and an immediate rejection for the rest.
//!
//! This is the API of the crate [`bulklink`], with the clock, the timers and the tasks of tokio. A
//! call runs in a *slot*, waits for one in the *waiting room*, or gets a [`Rejection`].
//!
//! ```
//! use bulklink_tokio::Bulkhead;
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
//! The guide has pages on [the numbers][numbers], on [a service][axum], on [limits that change
//! live][configuration] and on [metrics][figures].
//!
//! [numbers]: https://github.com/bulklink/bulklink/blob/main/docs/guide/choosing-numbers.md
//! [axum]: https://github.com/bulklink/bulklink/blob/main/docs/guide/axum.md
//! [configuration]: https://github.com/bulklink/bulklink/blob/main/docs/guide/configuration.md
//! [figures]: https://github.com/bulklink/bulklink/blob/main/docs/guide/metrics.md
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
//! # All bulkheads of a service
//!
//! A [`Registry`] has them by name, as a [page], [metrics] and a [configuration](config) use them.
//!
//! ```
//! use bulklink_tokio::{Bulkhead, Readiness, Registry, Tokio};
//! use std::time::Duration;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let registry = Registry::new();
//! let reports = registry.create(Bulkhead::builder("reports").parallelism(2))?;
//! registry.create(Bulkhead::builder("payments").parallelism(10).waiting_room(20))?;
//!
//! // Elsewhere. The registry has bulkheads of any runtime, so the call names it.
//! let payments = registry.bulkhead::<Tokio>("payments")?;
//! let slot = payments.slot().await?;
//!
//! // A `Handle` looks at a bulkhead and changes it, and makes no calls.
//! for handle in registry.handles() {
//!     let status = handle.status();
//!     println!("{}: {} of {}", status.label, status.in_use, status.limits.capacity);
//! }
//! // Ready while no more calls wait than these slots serve.
//! let readiness = Readiness::new(Duration::from_secs(10))?;
//! readiness.watch(&reports);
//! assert!(readiness.is_ready());
//!
//! drop(slot);
//! registry.close_and_wait().await;
//! assert!(!readiness.is_ready());
//! # Ok(())
//! # }
//! ```
//!
//! [page]: https://docs.rs/bulklink-tower/latest/bulklink_tower/page/
//! [metrics]: https://docs.rs/bulklink-metrics/
//!
//! # Names that others have too
//!
//! `Request` is also a name of axum, http and reqwest. It is seldom needed: `within` sets a limit
//! for one call, and [a layer] has methods for costs, limits and deadlines. Where both are there,
//! write `bulklink_tokio::Request`. The same goes for `JoinError`, and `Rejection` beside axum's.
//!
//! [a layer]: https://docs.rs/bulklink-tower/latest/bulklink_tower/struct.BulkheadLayer.html
//!
//! # Time
//!
//! The clock is `tokio::time::Instant`, so a test that pauses or advances tokio's time moves the
//! bulkhead's time too. A bulkhead belongs to no runtime: one in a `static` outlives the runtime
//! that used it and works on the next one, whatever their clocks show.
//!
//! With the feature `tsc` there is a second kind of bulkhead, in the module `tsc`. Its clock costs
//! less to read, and paused time does not stop it.
//!
//! Paused time exists only inside a runtime: a slot that is dropped on a thread outside of it is
//! released in real time.
//!
//! # Testing a service
//!
//! With tokio's time paused, the limits of a bulkhead pass immediately and exactly:
//!
//! ```
//! use bulklink_tokio::{Bulkhead, Reason};
//! use std::time::Duration;
//!
//! # // A doc test cannot hold a `#[tokio::test(start_paused = true)]`.
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // #[tokio::test(start_paused = true)]
//! let limit = Duration::from_secs(100);
//! let builder = Bulkhead::builder("reports").parallelism(1).waiting_room(5);
//! let reports = builder.wait_limit(limit).build()?;
//! let _running = reports.slot().await?;
//! let rejection = reports.slot().await.unwrap_err();
//! assert_eq!((rejection.reason(), rejection.waited()), (Reason::Expired, limit));
//! # Ok(())
//! # }
//! ```
//!
//! # Submitting
//!
//! [`submit`](bulklink::Bulkhead::submit) runs a future as a task of the runtime of this thread,
//! and [`submit_blocking`](bulklink::Bulkhead::submit_blocking) a closure on its pool. Outside of a
//! runtime both return `SubmitError::Refused`, or `NoTimer` if the wait has a limit.
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
//! Code that blocks its thread uses the same bulkhead, by the methods named `blocking_…`, such as
//! [`blocking_execute`](bulklink::Bulkhead::blocking_execute): for example in
//! [`spawn_blocking`](https://docs.rs/tokio/1/tokio/task/fn.spawn_blocking.html).
//!
//! ```
//! # use bulklink_tokio::Bulkhead;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let files = Bulkhead::builder("files").parallelism(4).waiting_room(100).build()?;
//! let read = move || files.blocking_execute(|| std::fs::read("Cargo.toml"));
//! let read = tokio::task::spawn_blocking(read);
//! # assert!(read.await??.is_ok());
//! # Ok(())
//! # }
//! ```
//!
//! # Settings from a file, and an orderly end
//!
//! With the feature `watch`, `config::watch` applies a file at the start, and whenever it has
//! changed. With the feature `drain`, a `Drain` ends the service on a signal: it is not ready, then
//! its bulkheads close, their calls end, and then the server.
//!
//! # The task in the background
//!
//! While calls wait with a limit, a bulkhead has one task on each runtime that they wait on; the
//! runtime's metrics count it. It expires the calls that are late there, and may run event
//! handlers. It does not keep the bulkhead alive. It ends with its bulkhead, when its partition
//! becomes idle, or when its timer fires while no call needs it. Under paused time, that
//! timer is one of those to which tokio moves the clock.
//!
//! # Cooperation
//!
//! The *gate* is the state machine of a bulkhead, under its lock; the *fast path* takes a free slot
//! without it. Calls that are awaited and complete through the gate count in tokio's [budget],
//! rejections included. So do events that are received and operations that are joined. A loop of
//! rejected `slot().await` therefore lets other tasks run. `try_slot` and the other calls that are
//! not awaited do not count, nor does `closed()`.
//!
//! The fast path does not count either, because that would add 6 ns to 10 ns. A loop that always
//! gets a free slot yields after some thousands of slots, about every 0.1 ms. A loop that also
//! calls `status()`, or runs beside a task that does so as often, never yields; add
//! [`consume_budget`] there.
//!
//! In a task that has used up its budget, do not `block_on` such a future: that never returns.
//! Tokio's own futures behave the same.
//!
//! # Panics
//!
//! A call with a limit needs a timer. Outside of a runtime, and on one built without `enable_time`,
//! every call with a limit that asks the gate panics with a message about it, even if there is
//! room; [`submit`](bulklink::Bulkhead::submit) and its variants return [`SubmitError::NoTimer`].
//! Nothing is counted then. On a new bulkhead the first call asks the gate, so the mistake shows at
//! the first request. Once a call has been admitted, a call that takes a free slot by the fast path
//! does not ask the gate, and succeeds. Tokio reports that it has no timers only by a panic. It is
//! caught once for each thread and runtime; the panic hook sees it.
//!
//! A call that still waits when its runtime has ended goes on waiting on the runtime that polls it
//! next. If that poll is outside of a runtime, or on one without timers, it panics. The call then
//! keeps its place, or the slot that it is granted, until its future is dropped.
//!
//! Calls without a limit work on any executor, and so do calls that are rejected in any case.
//!
//! # Versions
//!
//! The API has types of tokio 1 and, with the feature `serde`, of serde 1; events and spans are of
//! tracing 0.1.
//! Their next versions come with [one of this crate][versions].
//!
//! [budget]: https://docs.rs/tokio/latest/tokio/task/coop/index.html
//! [`consume_budget`]: https://docs.rs/tokio/latest/tokio/task/coop/fn.consume_budget.html
//! [versions]: https://github.com/bulklink/bulklink/blob/main/docs/VERSIONS.md

#![doc(html_root_url = "https://docs.rs/bulklink-tokio/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
// Features of other crates, which this one turns on.
#![cfg_attr(docsrs, allow(unexpected_cfgs))]
#![cfg_attr(docsrs, doc(auto_cfg(hide(feature = "histogram", feature = "restriction", feature = "std"))))]
// Of this one, but shown at every method of `Partitions` too: so it is shown by hand.
#![cfg_attr(docsrs, doc(auto_cfg(hide(feature = "tsc"))))]
#![forbid(unsafe_code)]

mod clock;
pub mod config;
#[cfg(feature = "drain")]
mod drain;
mod driver;
#[cfg(feature = "watch")]
mod follow;
#[cfg(any(feature = "drain", feature = "watch"))]
mod signals;
mod timer;
#[cfg(feature = "tsc")]
#[cfg_attr(docsrs, doc(cfg(feature = "tsc")))]
pub mod tsc;
#[cfg(feature = "watch")]
mod watch;

use std::future::Future;

use bulklink::runtime::{Spawn, SpawnBlocking};
pub use bulklink::runtime::{SpawnError, TimerError};
pub use bulklink::{
    Bound, Builder, CapacityReport, Ceiling, Closed, CollectiveError, Event, EventFilter, EventKind, EventReceiver,
    ExecuteError, FailureCause, Figures, Finding, FindingCode, GateEvent, GateReport, Handle, HandlerId, Histogram,
    Interval, IntervalError, InvalidArgument, JoinError, JoinHandle, Limits, Load, MemberFailure, Occupancy, OwnedSlot,
    Panic, Readiness, Reason, ReconfigureError, Reconfigured, RegisterError, Registry, Rejection, Reserve, ResizeError,
    Resized, Restriction, Severity, Slot, Snapshot, Status, SubmitError, Totals, TryRecvError, limit, partitions,
    testing,
};
#[cfg(feature = "drain")]
pub use drain::{Drain, DrainConfig, Drained, NotDrained};
pub use timer::TokioSleep;
#[cfg(feature = "tsc")]
#[cfg_attr(docsrs, doc(cfg(feature = "tsc")))]
pub use tsc::Tsc;

/// A [`bulklink::Bulkhead`] on tokio, with all of its methods, which are on that page.
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
pub type Bulkhead = bulklink::Bulkhead<Tokio>;

/// A [`bulklink::StaticBulkhead`] on tokio.
///
/// ```
/// use bulklink_tokio::{Limits, Rejection, StaticBulkhead, Tokio};
///
/// static PAYMENTS: StaticBulkhead =
///     StaticBulkhead::new("payments", Tokio, Limits::new(10).with_waiting_room(50));
///
/// async fn pay() -> Result<&'static str, Rejection> {
///     PAYMENTS.execute(async { "paid" }).await
/// }
/// ```
pub type StaticBulkhead = bulklink::StaticBulkhead<Tokio>;

/// A [`bulklink::Request`] with deadlines of tokio; those of `std` are converted.
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
/// let slot = reports.with(Request::new().cost(3).before(deadline)).slot().await?;
/// # assert_eq!(slot.cost(), 3);
/// # Ok(())
/// # }
/// ```
pub type Request = bulklink::Request<tokio::time::Instant>;

/// [`bulklink::Partitions`] on tokio. The methods are on that page.
///
/// ```
/// use bulklink_tokio::Partitions;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let tenants: Partitions<String> = Partitions::builder("tenants")
///     .parallelism(5)
///     .waiting_room(20)
///     .max_partitions(10_000)
///     .build()?;
///
/// let answer = tenants.key("ann").execute(async { "done" }).await?;
/// # assert_eq!(answer, "done");
/// # Ok(())
/// # }
/// ```
pub type Partitions<K, S = partitions::RandomState> = bulklink::Partitions<K, Tokio, S>;

/// A [`bulklink::BoundRequest`] on tokio: a call that has not been made yet.
pub type BoundRequest = bulklink::BoundRequest<Tokio>;

/// A [`bulklink::SlotFuture`] on tokio.
pub type SlotFuture<'a> = bulklink::SlotFuture<'a, Tokio>;

/// A [`bulklink::OwnedSlotFuture`] on tokio.
pub type OwnedSlotFuture = bulklink::OwnedSlotFuture<Tokio>;

/// A [`bulklink::ExecuteOwned`] on tokio.
pub type ExecuteOwned<F> = bulklink::ExecuteOwned<F, Tokio>;

/// A [`bulklink::ExecuteFallibleOwned`] on tokio.
pub type ExecuteFallibleOwned<F> = bulklink::ExecuteFallibleOwned<F, Tokio>;

/// A [`bulklink::Wrapped`] function on tokio.
pub type Wrapped<F> = bulklink::Wrapped<F, Tokio>;

/// The tokio runtime that a call runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokio;

impl Spawn for Tokio {
    /// Refuses outside of a tokio runtime. A runtime that is shutting down drops the task
    /// immediately.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Result<(), SpawnError> {
        drop(current_runtime()?.spawn(task));
        Ok(())
    }
}

impl SpawnBlocking for Tokio {
    /// Refuses outside of a tokio runtime. A runtime that has shut down drops the closure
    /// immediately. While all threads of the pool are busy, the closure waits for one, in its slot;
    /// if it is cancelled, its handle completes when a thread comes to it. If the runtime is shut
    /// down meanwhile, tokio either drops the closure or still runs it.
    fn spawn_blocking(&self, work: impl FnOnce() + Send + 'static) -> Result<(), SpawnError> {
        drop(current_runtime()?.spawn_blocking(work));
        Ok(())
    }
}

fn current_runtime() -> Result<tokio::runtime::Handle, SpawnError> {
    tokio::runtime::Handle::try_current().map_err(|_| SpawnError::new("there is no tokio runtime on this thread"))
}
