//! The traits of an adapter, which runs bulkheads on a runtime: a clock, timers, and ways to run
//! tasks and closures.
//!
//! Programs that use an adapter need nothing of this.
//!
//! # How to write an adapter
//!
//! 1. Make a type for the runtime: small, because each call that waits has a clone of it, and best
//!    without fields, so that [`Bulkhead::builder`](crate::Bulkhead::builder) can make it.
//! 2. Implement [`Clock`]. If the runtime has no clock of its own, forward to
//!    `StdClock`. If its tasks have a budget, implement [`cooperate`](Clock::cooperate).
//! 3. Implement [`Timer`]. Now it is a [`Runtime`], and all of a bulkhead works except background
//!    tasks.
//! 4. If the runtime runs tasks, implement [`Spawn`], and [`SpawnBlocking`] if it has threads for
//!    closures that block: for [`submit`](crate::Bulkhead::submit) and
//!    [`submit_blocking`](crate::Bulkhead::submit_blocking).
//! 5. If each thread belongs to at most one runtime, which polls its tasks soon after they are
//!    woken, implement [`Timer::home`]: then one [`Driver`] on it expires all calls, with one
//!    timer.
//! 6. Name the types for users: `pub type Bulkhead = bulklink::Bulkhead<MyRuntime>`, and likewise
//!    [`Request`](crate::Request) with the clock's [instant](Clock::Instant).
//!
//! An adapter decides nothing about admission. [`bulklink-smol`][smol] is a short one, and
//! [`bulklink-tokio`][tokio] has a driver. The [example for WebAssembly][wasm] has a driver too, on
//! the clock and the timers of a host.
//!
//! [smol]: https://docs.rs/crate/bulklink-smol/latest/source/src/
//! [tokio]: https://docs.rs/crate/bulklink-tokio/latest/source/src/
//! [wasm]: https://github.com/bulklink/bulklink/blob/main/examples/wasm/src/host.rs
//!
//! ```
//! use bulklink::runtime::{Clock, Instant, Timer};
//! use bulklink::{Bulkhead, StdClock};
//! use std::pin::Pin;
//! use std::task::{Context, Poll};
//! use std::thread;
//! use std::time::Duration;
//!
//! /// A runtime whose timers are threads.
//! #[derive(Clone, Copy, Default)]
//! struct Threads;
//!
//! impl Clock for Threads {
//!     type Instant = std::time::Instant;
//!
//!     fn now(&self) -> Instant {
//!         StdClock.now()
//!     }
//!
//!     fn instant(&self, at: std::time::Instant) -> Instant {
//!         StdClock.instant(at)
//!     }
//! }
//!
//! struct Sleep(Instant);
//!
//! impl Timer for Threads {
//!     type Sleep = Sleep;
//!
//!     fn sleep_until(&self, deadline: Instant) -> Sleep {
//!         Sleep(deadline)
//!     }
//! }
//!
//! impl Future for Sleep {
//!     type Output = ();
//!
//!     fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
//!         let left = self.0.saturating_since(StdClock.now());
//!         if left.is_zero() {
//!             return Poll::Ready(());
//!         }
//!         let waker = context.waker().clone();
//!         thread::spawn(move || {
//!             thread::sleep(left);
//!             waker.wake();
//!         });
//!         Poll::Pending
//!     }
//! }
//!
//! let payments = Bulkhead::<Threads>::builder("payments")
//!     .parallelism(1)
//!     .waiting_room(1)
//!     .wait_limit(Duration::from_millis(1))
//!     .build()?;
//! # let _ = payments;
//! # Ok::<(), bulklink::InvalidArgument>(())
//! ```

pub use bulklink_core::Instant;

pub use crate::time::driver::Driver;
pub use crate::time::runtime::{Clock, DriverHome, Runtime, Spawn, SpawnBlocking, SpawnError, Timer, TimerError};
