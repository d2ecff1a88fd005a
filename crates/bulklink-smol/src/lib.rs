//! [Bulklink](bulklink) on smol: its clock, its timers, its tasks, and nothing else.
//!
//! [`Bulkhead`] is [`bulklink::Bulkhead`] with the runtime filled in; everything said there holds here.
//!
//! ```
//! use bulklink_smol::{Bulkhead, Rejection};
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
//! # Executors
//!
//! Smol has no runtime that a call is on: its timers run everywhere, served by whichever thread is in `smol::block_on`, and by a
//! thread of their own where none is. So these bulkheads work on [`smol::Executor`], on `LocalExecutor`, in a bare `block_on`, on
//! several at once, and on executors that smol has never heard of. One in a `static` serves them all.
//!
//! An executor matters only for what runs in the background: [`submit`](bulklink::Bulkhead::submit) runs a future on the executor
//! behind [`smol::spawn`], whose threads are started when it is first called: one, unless the environment variable `SMOL_THREADS`
//! says otherwise. A program that runs an executor of its own names it by [`SmolOn`].
//! [`submit_blocking`](bulklink::Bulkhead::submit_blocking) runs a closure in the pool of [`smol::unblock`]. By itself, a bulkhead
//! spawns nothing.
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
//! Code that blocks its thread uses the same bulkhead, by the methods that begin with `blocking_`, such as
//! [`blocking_execute`](bulklink::Bulkhead::blocking_execute): for example in [`smol::unblock`].
//!
//! ```
//! # use bulklink_smol::Bulkhead;
//! # smol::block_on(async {
//! let files = Bulkhead::builder("files").parallelism(4).waiting_room(100).build()?;
//! let read = smol::unblock(move || files.blocking_execute(|| std::fs::read("Cargo.toml")));
//! # assert!(read.await?.is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Time
//!
//! The clock is `std::time::Instant`. Smol's time can be neither paused nor advanced: tests of limits wait for real, or take
//! [`bulklink::testing`] instead of this crate. [`StdClock::to_std`] tells what [`Event::at`] is on that clock.
//!
//! Each call that waits with a limit or a deadline has a timer of its own, and none has a call that waits without. There is no
//! [driver](bulklink::Driver): it would be a task on an executor, and no executor of smol's is sure to be run soon. That of
//! `smol::spawn` has one thread, which any task of the program may be keeping busy.

#![forbid(unsafe_code)]

mod clock;
mod on;

use std::future::Future;

pub use bulklink::*;
pub use clock::SmolSleep;
pub use on::{BulkheadOn, SmolOn};

/// A [`bulklink::Bulkhead`] on smol.
pub type Bulkhead = bulklink::Bulkhead<Smol>;

/// A [`bulklink::Request`] whose deadlines are those of the standard library.
///
/// ```
/// use bulklink_smol::{Bulkhead, Request};
/// use std::time::{Duration, Instant};
///
/// # smol::block_on(async {
/// let reports = Bulkhead::builder("reports").capacity(8).waiting_room(20).build()?;
/// let deadline = Instant::now() + Duration::from_millis(250);
/// let slot = reports.slot_with(Request::new().cost(3).before(deadline)).await?;
/// # assert_eq!(slot.cost(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Request = bulklink::Request<std::time::Instant>;

/// [`bulklink::Partitions`] on smol.
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
/// let answer = tenants.execute("ann", async { "done" }).await?;
/// # assert_eq!(answer, "done");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Partitions<K, S = partitions::RandomState> = bulklink::Partitions<K, Smol, S>;

/// A [`bulklink::SlotFuture`] on smol.
pub type SlotFuture<'a> = bulklink::SlotFuture<'a, Smol>;

/// A [`bulklink::OwnedSlotFuture`] on smol.
pub type OwnedSlotFuture = bulklink::OwnedSlotFuture<Smol>;

/// A [`bulklink::Wrapped`] function on smol.
pub type Wrapped<F> = bulklink::Wrapped<F, Smol>;

/// Smol's timers, wherever a call is polled, and the executor behind [`smol::spawn`] for tasks.
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
    /// Never refuses. While all threads of the pool are busy, the closure waits for one, in the slot that it has.
    fn spawn_blocking(&self, work: impl FnOnce() + Send + 'static) -> Result<(), SpawnError> {
        smol::unblock(work).detach();
        Ok(())
    }
}
