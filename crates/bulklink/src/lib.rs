//! Bulkheads for async Rust: run at most N operations at the same time, queue a bounded number of
//! callers in FIFO order for a bounded time, and reject the rest immediately.
//!
//! This crate works on any executor. It puts the state machine of [`bulklink-core`] behind a lock,
//! waits, and wakes tasks. A runtime gives it a [`Clock`] and a [`Timer`]: use it through an
//! adapter such as `bulklink-tokio`, whose `Bulkhead` is this crate's [`Bulkhead`] on that runtime.
//!
//! ```
//! use bulklink::testing::{Executor, FakeClock};
//! use bulklink::{Bulkhead, Reason};
//! use std::time::Duration;
//!
//! let clock = FakeClock::new();
//! let payments = Bulkhead::builder_on(clock.clone(), "payments")
//!     .parallelism(1)
//!     .waiting_room(1)
//!     .wait_limit(Duration::from_secs(2))
//!     .build()?;
//!
//! let running = payments.try_slot()?;
//! let mut executor = Executor::new(clock);
//! let waiting = executor.spawn({
//!     let payments = payments.clone();
//!     async move { payments.execute(async { "paid" }).await }
//! });
//! executor.run_until_idle();
//! assert_eq!(payments.try_slot().unwrap_err().reason(), Reason::Saturated);
//!
//! drop(running);
//! executor.run_until_idle();
//! assert_eq!(waiting.output().unwrap()?, "paid");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Partitions`] are bulkheads by key, one for each tenant, host or account.
//!
//! In these pages, the *gate* is the state machine inside a bulkhead.
//!
//! # Fairness
//!
//! Strictly first come, first served. A call is admitted directly only if there is room and no call
//! waits. A freed slot goes to the head of the queue. With weights, a small request never overtakes
//! a large one.
//!
//! # Cancel safety
//!
//! Every future here may be dropped in any state. It then gives up its place in the queue, and no
//! slot is lost: a slot that was handed to it and not yet taken goes to the next call in line, and
//! is counted as abandoned.
//!
//! # Timers
//!
//! On a runtime that can run tasks in the background ([`Timer::home`]), all calls that wait with a
//! limit or a deadline share one timer in a [`Driver`] there. The driver expires calls even if they
//! are not polled, and keeps no bulkhead alive. On other runtimes, each such call has its own
//! timer. A call with neither limit nor deadline has no timer. The clock decides whether a call is
//! late, not a timer that has fired.
//!
//! # Cooperation
//!
//! If a runtime bounds what a task does between two yields, as tokio does, calls that complete
//! without waiting count towards that bound ([`Clock::cooperate`]): rejections, slots that were
//! handed over, and events that are received. The fast path does not count, because that would make
//! it more than half as slow again. A loop that is always admitted there is counted once in 4,095
//! slots, as that many operations, if nothing else looks at the bulkhead meanwhile. On runtimes
//! without such a bound, a loop that never waits should yield by itself.
//!
//! # In the background
//!
//! [`Bulkhead::submit`] and [`Bulkhead::submit_blocking`] pass a future or a closure to the
//! runtime, which runs it in a slot, and return a [`JoinHandle`] immediately.
//!
//! # Threads
//!
//! With the feature `std`, a bulkhead also admits threads that block, by the methods whose names
//! begin with `blocking_`. Threads and tasks wait in one queue, first come, first served. These
//! methods need a [`Clock`] and no runtime, so a program without an async runtime uses a bulkhead
//! on `StdClock`:
//!
//! ```
//! use bulklink::{Bulkhead, Request, StdClock};
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
//! let _third = payments.blocking_slot_with(Request::new().within(Duration::from_millis(250)))?;
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
//! A blocked thread waits on a lock and a condition variable of its own, not by
//! `std::thread::park`. An unpark from elsewhere does not disturb the wait, and its token stays
//! available.
//!
//! # The clock
//!
//! The runtime provides the clock. `StdClock` is for adapters of runtimes that have none, and for
//! programs without a runtime. With the feature `tsc`, `Tsc` wraps a runtime and measures by the
//! processor's counter instead, which costs less to read. Without measured waits
//! ([`Builder::measure_waits`]), only limits and deadlines need a clock.
//!
//! # Without std
//!
//! With the feature `critical-section` instead of `std`, the crate builds without the standard
//! library and takes its lock from the [`critical-section`](https://docs.rs/critical-section)
//! crate. The program provides an implementation of that crate, a global allocator, a [`Clock`] and
//! a [`Timer`]; the example `embedded` in the repository has them for embassy. If both features are
//! enabled, `std` is used; one crate in a build that enables it enables it for all.
//!
//! The queue allocates memory as it grows, in chunks of 4 places at first and 128 at most, under
//! the lock, and keeps it. While no call waits, admitting and releasing allocate nothing.
//!
//! [`bulklink-core`]: https://docs.rs/bulklink-core

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

mod acquire;
#[cfg(feature = "std")]
mod blocking;
mod builder;
mod bulkhead;
mod foreign;
mod gate;
mod handle;
mod label;
mod observe;
pub mod partitions;
mod registry;
mod rejection;
mod request;
mod submit;
pub mod testing;
mod time;

pub use bulklink_core::{
    EventKind, Finding, FindingCode, Instant, Interval, IntervalError, InvalidArgument, Limits, Occupancy, ResizeError,
    Resized, Severity, Snapshot, Totals,
};

pub use acquire::execute::ExecuteError;
pub use acquire::future::{OwnedSlotFuture, SlotFuture};
pub use acquire::slot::{OwnedSlot, Slot};
pub use acquire::wrap::Wrapped;
pub use builder::Builder;
pub use bulkhead::Bulkhead;
pub use gate::closed::Closed;
pub use handle::Handle;
pub use observe::channel::{EventReceiver, TryRecvError};
pub use observe::event::{Event, EventHandler};
pub use observe::labelled::{CapacityReport, Labelled, Status};
pub use partitions::Partitions;
pub use registry::{CollectiveError, FailureCause, MemberFailure, RegisterError, Registry};
pub use rejection::{Reason, Rejection};
pub use request::Request;
pub use submit::{CancelOnDrop, JoinError, JoinHandle, Panic, SubmitError};
pub use time::driver::{Driver, DriverHome};
pub use time::runtime::{Clock, Runtime, Spawn, SpawnBlocking, SpawnError, Timer, TimerError};
#[cfg(feature = "std")]
pub use time::std_clock::StdClock;
#[cfg(feature = "tsc")]
pub use time::tsc::Tsc;
