//! A fake clock and a deterministic executor, for tests of code that uses a bulkhead.
//!
//! Nothing here sleeps: time moves when a test moves it. With an [`Executor`], moving it stops at
//! every timer on the way and runs all tasks to idle there. So a test sees each timeout at its
//! exact instant, in the same order in every run.
//!
//! The bulkheads of such a test are those of the crate `bulklink`, whose runtime is a parameter,
//! and not those of an adapter. On tokio, a test can pause the time instead.
//!
//! ```
//! use bulklink::testing::{Executor, FakeClock};
//! use bulklink::{Bulkhead, Reason};
//! use std::time::Duration;
//!
//! let mut executor = Executor::new(FakeClock::new());
//! let reports = Bulkhead::builder_on(executor.clock(), "reports")
//!     .parallelism(1)
//!     .waiting_room(5)
//!     .wait_limit(Duration::from_secs(3))
//!     .build()?;
//! let _running = reports.owned().try_slot()?;
//! let late = executor.spawn(async move { reports.slot().await.map(drop) });
//!
//! executor.advance(Duration::from_millis(2_999));
//! assert!(!late.is_finished());
//! executor.advance(Duration::from_millis(1));
//! assert_eq!(late.output().unwrap().unwrap_err().reason(), Reason::Expired);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod clock;
mod executor;
mod runtime;

pub use clock::{FakeClock, FakeSleep};
pub use executor::{Executor, Task};
pub use runtime::FakeRuntime;
