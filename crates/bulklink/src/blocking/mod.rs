//! The same gate for threads: calls that block until they are admitted.
//!
//! A thread stands in the same queue as the async callers of its bulkhead, first come, first served. There are two ways to get
//! one of these bulkheads: every async bulkhead [lends](crate::Bulkhead::blocking) one, and a program without an async runtime
//! makes one of its own, on the clock of the standard library:
//!
//! ```
//! use bulklink::blocking::{Bulkhead, Request};
//! use std::time::Duration;
//!
//! let payments = Bulkhead::builder("payments")
//!     .parallelism(10)
//!     .waiting_room(50)
//!     .wait_limit(Duration::from_secs(2))
//!     .build()?;
//!
//! // Runs in a slot, on this thread, which blocks until there is one.
//! let receipt = payments.execute(|| "paid")?;
//! # assert_eq!(receipt, "paid");
//!
//! // The same as a guard; without waiting; and with a limit of its own.
//! let _slot = payments.slot()?;
//! let _another = payments.try_slot()?;
//! let _third = payments.slot_with(Request::new().within(Duration::from_millis(250)))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Time
//!
//! No timer and no runtime is needed: a blocked thread wakes itself when its time is up, by the clock of its bulkhead. Where that
//! clock does not pass by itself, it [wakes the thread](crate::Clock::blocking_sleep_until), as the
//! [fake one](crate::testing::FakeClock) does. One that stands still and does not say so, as tokio's when it is paused, is looked
//! at again each time that what was left has passed on the machine, and no more often than once in a millisecond.
//!
//! # Wake-ups
//!
//! A blocked thread waits on a lock and a condition variable of its own, and not by [`std::thread::park`]: who unparks the thread
//! for reasons of its own does not disturb the wait, and finds its token where it was.
//!
//! # In async code
//!
//! Do not call these from a task: they block the thread that runs it, and all other tasks that the thread has to run. Where a
//! slot is held by one of those, the call waits for ever. Closures on a thread pool made for blocking, as that of tokio's
//! `spawn_blocking`, are the place for it; or [`slot`](crate::Bulkhead::slot) and `await`.

#[cfg(feature = "std")]
mod bulkhead;
mod entrance;
#[cfg(feature = "std")]
pub(crate) mod parker;
#[cfg(feature = "std")]
mod thread;
mod threads;

pub use entrance::Bulkhead;
pub use threads::Threads;

/// A [`Request`](crate::Request) whose deadlines are those of the standard library.
#[cfg(feature = "std")]
pub type Request = crate::Request<std::time::Instant>;
