//! [Bulklink](bulklink) on async-std: its clock, its timers, its tasks, and nothing else.
//!
//! <div class="warning">
//!
//! async-std is discontinued, and its authors point to smol. This crate is for programs that still run on it. New ones take
//! [`bulklink-smol`](https://docs.rs/bulklink-smol), which runs on the same timers and calls everything the same.
//!
//! </div>
//!
//! [`Bulkhead`] is [`bulklink::Bulkhead`] with the runtime filled in; everything said there holds here.
//!
//! ```
//! use bulklink_async_std::{Bulkhead, Rejection};
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
//! # Executors
//!
//! There is one of async-std in a process. Its timers run everywhere, with a thread of their own where nobody else serves them, so
//! a call may be polled on any executor. [`submit`](bulklink::Bulkhead::submit) runs a future by [`async_std::task::spawn`], and
//! [`submit_blocking`](bulklink::Bulkhead::submit_blocking) a closure by
//! [`spawn_blocking`](async_std::task::spawn_blocking). By itself, a bulkhead spawns nothing.
//!
//! # Threads
//!
//! Code that blocks its thread uses the same bulkhead, by the methods that begin with `blocking_`, such as
//! [`blocking_execute`](bulklink::Bulkhead::blocking_execute): for example in [`async_std::task::spawn_blocking`].
//!
//! ```
//! # use bulklink_async_std::Bulkhead;
//! # async_std::task::block_on(async {
//! let files = Bulkhead::builder("files").parallelism(4).waiting_room(100).build()?;
//! let read = async_std::task::spawn_blocking(move || files.blocking_execute(|| std::fs::read("Cargo.toml")));
//! # assert!(read.await?.is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Time
//!
//! The clock is `std::time::Instant`. async-std's time can be neither paused nor advanced: tests of limits wait for real, or
//! take [`bulklink::testing`] instead of this crate. [`StdClock::to_std`] tells what [`Event::at`] is on that clock.
//!
//! Each call that waits with a limit or a deadline has a timer of its own, and none has a call that waits without. There is no
//! [driver](bulklink::Driver): it would be a task among those of the program, and while these keep all threads busy, also those would
//! get no answer who wait in a `block_on` elsewhere.

#![forbid(unsafe_code)]

mod clock;

use std::future::Future;

pub use bulklink::*;
pub use clock::AsyncStdSleep;

/// A [`bulklink::Bulkhead`] on async-std.
pub type Bulkhead = bulklink::Bulkhead<AsyncStd>;

/// A [`bulklink::Request`] whose deadlines are those of the standard library.
///
/// ```
/// use bulklink_async_std::{Bulkhead, Request};
/// use std::time::{Duration, Instant};
///
/// # async_std::task::block_on(async {
/// let reports = Bulkhead::builder("reports").capacity(8).waiting_room(20).build()?;
/// let deadline = Instant::now() + Duration::from_millis(250);
/// let slot = reports.slot_with(Request::new().cost(3).before(deadline)).await?;
/// # assert_eq!(slot.cost(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Request = bulklink::Request<std::time::Instant>;

/// [`bulklink::Partitions`] on async-std.
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
/// let answer = tenants.execute("ann", async { "done" }).await?;
/// # assert_eq!(answer, "done");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Partitions<K, S = partitions::RandomState> = bulklink::Partitions<K, AsyncStd, S>;

/// A [`bulklink::SlotFuture`] on async-std.
pub type SlotFuture<'a> = bulklink::SlotFuture<'a, AsyncStd>;

/// A [`bulklink::OwnedSlotFuture`] on async-std.
pub type OwnedSlotFuture = bulklink::OwnedSlotFuture<AsyncStd>;

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
    /// Never refuses. While all threads of the pool are busy, the closure waits for one, in the slot that it has.
    fn spawn_blocking(&self, work: impl FnOnce() + Send + 'static) -> Result<(), SpawnError> {
        drop(async_std::task::spawn_blocking(work));
        Ok(())
    }
}
