//! Bulkheads for async Rust: run at most N operations concurrently, queue a bounded number of calls
//! in FIFO order for a bounded time, and reject the rest immediately.
//!
//! When a dependency slows down, calls pile up on it and exhaust the connections, memory and
//! workers that the whole service shares. A [`Bulkhead`] keeps the damage local. A call either runs
//! in a *slot*, waits for one in the *waiting room*, or gets a [`Rejection`] with the reason.
//!
//! This crate works on any executor. A [`runtime`] provides a [`Clock`] and a [`Timer`]. Usually
//! you depend on an adapter such as [`bulklink-tokio`](https://docs.rs/bulklink-tokio) instead,
//! which has this API with the runtime filled in.
//!
//! # Examples
//!
//! On tokio, with the adapter `bulklink-tokio`:
//!
//! ```
//! use bulklink_tokio::{Bulkhead, Reason};
//! use std::time::Duration;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let payments = Bulkhead::builder("payments")
//!     .parallelism(1)
//!     .waiting_room(50)
//!     .wait_limit(Duration::from_secs(2))
//!     .build()?;
//!
//! let running = payments.try_slot()?;
//! assert_eq!(payments.try_slot().unwrap_err().reason(), Reason::Saturated);
//! drop(running);
//!
//! // Waits for a slot if necessary, and releases it however the operation ends.
//! let receipt = payments.execute(async { "paid" }).await?;
//! assert_eq!(receipt, "paid");
//! # Ok(())
//! # }
//! ```
//!
//! The examples of most pages are on tokio. The adapters of other runtimes have the same names. A
//! program without a runtime builds its bulkheads on `StdClock`: see [Threads](#threads).
//!
//! For a bulkhead per tenant, host or account, use [`Partitions`]. For a list of named bulkheads,
//! to inspect, resize or close them, use a [`Registry`]. A [configuration](config) can be applied
//! to it, again and again.
//!
//! # Ways to call
//!
//! - [`Bulkhead::execute`] acquires a slot and runs a future in it.
//! - [`Bulkhead::slot`] acquires a slot as a guard, which gives it back on drop.
//! - [`Bulkhead::try_slot`] takes a slot only if one is free now. It is not async.
//! - [`Bulkhead::submit`] and [`Bulkhead::submit_blocking`] run a future or a closure in a slot in
//!   the background, on the runtime. They return a [`JoinHandle`] immediately.
//! - `Bulkhead::blocking_execute` and `Bulkhead::blocking_slot` block the thread; see
//!   [Threads](#threads).
//!
//! A [`Request`] gives a call a cost, a limit on its wait, or a deadline. [`Bulkhead::with`] binds
//! it to a bulkhead, and [`Partitions::key`] to the bulkhead of a key: the [`BoundRequest`] has all
//! of these methods, for slots and futures that borrow nothing. [`Bulkhead::within`] is for a limit
//! alone, and [`Bulkhead::owned`] for none.
//!
//! The *gate*, which some pages mention, is the state machine inside a bulkhead, from the crate
//! [`bulklink-core`].
//!
//! # Fairness
//!
//! Strictly first come, first served. A new call is admitted directly only if capacity is free and
//! no call waits. A freed slot goes to the head of the queue. With weights, a small request never
//! overtakes a large one.
//!
//! # Cancel safety
//!
//! Every future in this crate may be dropped in any state. It gives up its place in the queue, and
//! never loses a slot: a slot that was handed to the future but not yet taken goes to the next
//! waiter, and is counted as abandoned.
//!
//! # Timers
//!
//! On a runtime that can run background tasks ([`Timer::home`]), all calls that wait with a limit
//! or a deadline share one timer, in a [`Driver`](runtime::Driver) there. The driver also expires
//! calls that are not polled, and does not keep its bulkhead alive. On other runtimes, each such
//! call has its own timer. A call with neither has no timer, unless slots that are not collected
//! are [taken back](Builder::collect_limit), which the driver does. The clock decides whether a
//! call has expired, not a timer that has fired.
//!
//! # Cooperative scheduling
//!
//! Some runtimes, such as tokio, limit the work of a task before it yields. On these, calls that
//! complete without waiting use up the task's budget ([`Clock::cooperate`]): rejections, slots that
//! were handed over, and received events. The fast path does not, because that would cost more than
//! half of its time again. A loop of calls that the fast path always admits is charged once in
//! 4,095 slots, for all of them, if nothing else uses the bulkhead meanwhile. On runtimes without
//! such a limit, a loop that never waits should yield by itself.
//!
//! # Threads
//!
//! With the feature `std`, a bulkhead also admits threads that block, by the methods named
//! `blocking_…`. Threads and tasks wait in one queue, first come, first served. These methods need
//! a [`Clock`] and no runtime, so a program without an async runtime uses a bulkhead on `StdClock`:
//!
//! ```
//! use bulklink::{Bulkhead, StdClock};
//! use std::time::Duration;
//!
//! let payments = Bulkhead::builder_on(StdClock, "payments")
//!     .parallelism(10)
//!     .waiting_room(50)
//!     .wait_limit(Duration::from_secs(2))
//!     .build()?;
//!
//! // Runs in a slot, on this thread, which blocks until there is one.
//! let receipt = payments.blocking_execute(|| "paid")?;
//! # assert_eq!(receipt, "paid");
//!
//! // The same as a guard; without waiting; and with a limit for this call.
//! let _slot = payments.blocking_slot()?;
//! let _another = payments.try_slot()?;
//! let _third = payments.within(Duration::from_millis(250)).blocking_slot()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Do not call these methods from a task: they block the thread that runs the task, and all other
//! tasks on that thread. If one of those tasks holds the slot, the call never returns. Call them on
//! a thread of a pool for blocking work, such as tokio's `spawn_blocking`, or await
//! [`Bulkhead::slot`] instead.
//!
//! A blocked thread needs no timer: it wakes itself when its time is up, by the clock of its
//! bulkhead. A clock that does not advance by itself, such as the [fake one](testing::FakeClock),
//! wakes the thread through `Clock::blocking_sleep_until`. A clock that stands still and does not
//! implement that, such as tokio's while it is paused, is read again each time that the rest of the
//! wait has passed on the machine's clock, and at most once per millisecond.
//!
//! A blocked thread waits on its own lock and condition variable, not by `std::thread::park`. An
//! unpark from elsewhere does not disturb the wait, and its token stays available.
//!
//! # The clock
//!
//! A bulkhead uses the clock of its runtime. `StdClock` is for bulkheads that only threads use, and
//! for adapters of runtimes without their own clock. With the feature `tsc`, `Tsc` wraps a runtime
//! and measures with the processor's counter instead, which costs less to read. If waits are not
//! measured ([`Builder::measure_waits`]), only limits and deadlines need the clock.
//!
//! # Tracing
//!
//! With the feature `tracing`, a call that waits has a span, and rejections are events, for
//! subscribers of the crate [`tracing`](https://docs.rs/tracing). The target is `bulklink`:
//!
//! - The span `bulkhead.wait` (`DEBUG`) lasts from the queue to the answer, with the label, the
//!   cost, the outcome and the time waited. Its parent is the span in which the call joined the
//!   queue.
//! - The event `bulkhead.rejected` (`WARN`) has the reason and the state of the bulkhead. At most
//!   ten in any second are logged for a bulkhead, or for all partitions of a set together. The next
//!   one has the number of those that were left out.
//! - The event `bulkhead.limit` (`DEBUG`) is a move of an [adaptive limit](limit), with the reason
//!   of its step; `bulkhead.limit_failed` (`ERROR`) is the last one of a limit that has failed. Of
//!   both, at most ten in any second are logged, as of rejections.
//!
//! The fast path is as it is without the feature. Without a subscriber that wants them, a wait and
//! a rejection cost a comparison more each.
//!
//! # Without std
//!
//! With the feature `critical-section` instead of `std`, the crate builds without the standard
//! library and uses the lock of the [`critical-section`](https://docs.rs/critical-section) crate.
//! The program must provide an implementation of that, a global allocator, a [`Clock`] and a
//! [`Timer`]. If both features are enabled, `std` is used; if one crate in a build enables `std`,
//! it is enabled for all.
//!
//! The queue allocates under the lock, in chunks as it grows: 4 places at first, and 128 at most.
//! It keeps its allocations. While no call waits, admission and release allocate nothing.
//!
//! # Versions
//!
//! The API has types of futures-core 0.3 and, with the feature `serde`, of serde 1. Spans and
//! events are of tracing 0.1.
//! Their next versions come with [one of this crate][versions].
//!
//! [`bulklink-core`]: https://docs.rs/bulklink-core
//! [versions]: https://github.com/bulklink/bulklink/blob/main/docs/VERSIONS.md

#![doc(html_root_url = "https://docs.rs/bulklink/latest")]
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
// Features of the core: `std` turns on the one, and this crate the other.
#![cfg_attr(docsrs, allow(unexpected_cfgs))]
#![cfg_attr(docsrs, doc(auto_cfg(hide(feature = "histogram", feature = "restriction"))))]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

// First, so that a bulkhead's page begins with its methods.
mod bulkhead;

mod acquire;
#[cfg(feature = "std")]
mod blocking;
mod builder;
mod ceiling;
pub mod config;
mod estimate;
mod foreign;
mod gate;
mod handle;
mod identity;
mod label;
pub mod limit;
mod observe;
pub mod partitions;
#[doc(hidden)]
pub mod plumbing;
mod pool;
#[cfg(feature = "std")]
mod readiness;
mod reconfigure;
mod registry;
mod rejection;
mod request;
pub mod runtime;
#[cfg(feature = "std")]
mod static_bulkhead;
mod submit;
pub mod testing;
mod time;
mod waker_fn;

use runtime::{Clock, DriverHome, Runtime, Spawn, SpawnBlocking, SpawnError, Timer, TimerError};

#[cfg(feature = "std")]
pub use bulklink_core::Histogram;
pub use bulklink_core::{CapacityReport as GateReport, Event as GateEvent};
pub use bulklink_core::{
    EventFilter, EventKind, Finding, FindingCode, Interval, IntervalError, InvalidArgument, Limits, Load, Occupancy,
    Reserve, Resized, Restriction, Severity, Snapshot, Totals,
};

pub use acquire::execute::{ExecuteError, ExecuteFallibleOwned, ExecuteOwned};
pub use acquire::future::{OwnedSlotFuture, SlotFuture};
pub use acquire::slot::{OwnedSlot, Slot};
pub use acquire::wrap::Wrapped;
pub use builder::Builder;
pub use bulkhead::Bulkhead;
pub use ceiling::Ceiling;
pub use gate::closed::Closed;
pub use handle::Handle;
pub use observe::channel::{EventReceiver, TryRecvError};
pub use observe::event::{Event, HandlerId};
#[cfg(feature = "std")]
pub use observe::figures::Figures;
pub use observe::status::{CapacityReport, Status};
pub use partitions::Partitions;
pub use pool::Bound;
#[cfg(feature = "std")]
pub use readiness::Readiness;
pub use reconfigure::{ReconfigureError, Reconfigured, ResizeError};
pub use registry::{CollectiveError, FailureCause, MemberFailure, RegisterError, Registry};
pub use rejection::{Reason, Rejection};
pub use request::Request;
pub use request::bound::BoundRequest;
#[cfg(feature = "std")]
pub use static_bulkhead::StaticBulkhead;
pub use submit::{JoinError, JoinHandle, Panic, SubmitError};
#[cfg(feature = "std")]
pub use time::std_clock::StdClock;
#[cfg(feature = "tsc")]
pub use time::tsc::Tsc;
