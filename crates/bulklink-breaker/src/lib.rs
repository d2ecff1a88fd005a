//! A circuit breaker beside the bulkhead.
//!
//! A bulkhead limits the slots that a slow dependency can take. A *circuit breaker* stops calls to
//! one that fails: after too many failures its circuit *opens*, and calls are rejected immediately.
//! After a *cool-down* the circuit is *half-open*: a few calls are let through as *probes*, and
//! their outcome closes or opens it.
//!
//! ```
//! use bulklink_breaker::{Guard, GuardError};
//! use bulklink_tokio::Bulkhead;
//! use std::time::Duration;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let bulkhead = Bulkhead::builder("payments").parallelism(10).waiting_room(50).build()?;
//! // Opens after five failures in a row, for 30 s.
//! let payments = Guard::builder(&bulkhead).run_limit(Duration::from_secs(2)).build()?;
//!
//! let pay = async { Ok::<_, std::io::Error>("paid") };
//! match payments.execute(pay).await {
//!     Ok(receipt) => assert_eq!(receipt, "paid"),
//!     Err(GuardError::Open(open)) => println!("try again in {:?}", open.retry_after),
//!     Err(other) => println!("{other}"),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! - [`Guard`] is a bulkhead, a breaker and a limit on the run as one policy; [`Breaker`] is a
//!   breaker alone, and [`circuit`] has its state machine. [`Guards`] have a bulkhead and a circuit
//!   for each key, such as an upstream host.
//! - [`Settings`] say when the circuit opens and closes; a [classifier](Classify), what counts as a
//!   failure: `ByHttpStatus` (features `http` and `reqwest`) is one for responses of HTTP.
//! - [`status`](Guard::status) has the state and the counters. With the feature `tracing`, each
//!   transition of a circuit is an event `breaker.transition`.
//! - `bulklink-tower` has layers for services, and `bulklink-fleet` shares circuits between
//!   processes.
//!
//! The [page of the guide][guide] has more.
//!
//! # Versions
//!
//! The feature `reqwest` is for reqwest 0.13, `http` for http 1, `serde` for serde 1; events are of
//! tracing 0.1.
//! Their next versions come with [one of this crate][versions].
//!
//! [guide]: https://github.com/bulklink/bulklink/blob/main/docs/guide/circuit-breaker.md
//! [versions]: https://github.com/bulklink/bulklink/blob/main/docs/VERSIONS.md

#![doc(html_root_url = "https://docs.rs/bulklink-breaker/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

#[cfg(feature = "std")]
mod breaker;
pub mod circuit;
#[cfg(feature = "std")]
mod classify;
#[cfg(feature = "std")]
mod config;
#[cfg(feature = "std")]
mod guard;
#[cfg(feature = "std")]
mod guards;
/// For `bulklink-fleet` and `bulklink-tower`. It may change in any release.
#[cfg(feature = "std")]
#[doc(hidden)]
pub mod plumbing;
#[cfg(feature = "std")]
mod policy;
#[cfg(feature = "std")]
mod registry;
#[cfg(feature = "std")]
mod sync;

#[cfg(feature = "std")]
pub use breaker::{
    Breaker, BreakerBuilder, BreakerError, BreakerStatus, BreakerTotals, Call, Health, KeysStatus, OpenCircuit,
    Outcome, Transition,
};
#[cfg(feature = "std")]
pub use bulklink::HandlerId;
pub use bulklink::runtime::Instant;
// The parts of the state machine are shown in its module.
#[doc(hidden)]
pub use circuit::{Circuit, Mark, Outcomes, Pass, ProbeId, Refusal};
#[doc(inline)]
pub use circuit::{Counts, Settings, State, View};
#[cfg(feature = "std")]
#[cfg(feature = "http")]
pub use classify::ByHttpStatus;
#[cfg(feature = "std")]
pub use classify::{Classify, ErrorsFail};
#[cfg(feature = "std")]
pub use config::BreakerConfig;
#[cfg(feature = "std")]
pub use guard::{Guard, GuardBuilder, GuardError, GuardRequest, GuardStatus, Guarded, TimedOut};
#[cfg(feature = "std")]
pub use guards::{Guards, GuardsBuilder};
#[cfg(feature = "std")]
pub use registry::{BreakerRegistry, LabelTaken};
