//! One limit for a fleet of processes: the part that does not depend on any store.
//!
//! A service depends on `bulklink-redis` or `bulklink-postgres`, which have this API with their
//! store. This crate is for tests without a server, and for other stores.
//!
//! ```
//! use bulklink_fleet::{Fleet, MemoryStore};
//! use bulklink_tokio::{Bulkhead, Tokio};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let payments = Bulkhead::builder("payments").parallelism(8).waiting_room(100).build()?;
//!
//! // A store for tests. A service has that of `bulklink-redis` or `bulklink-postgres`.
//! let fleet = Fleet::builder(MemoryStore::new(Tokio), Tokio).namespace("prod").build()?;
//! let share = fleet.share(&payments).limit(20).connect().await?;
//!
//! let receipt = payments.execute(async { "paid" }).await?;
//! # assert_eq!((receipt, share.status().limit), ("paid", 20));
//! # Ok(())
//! # }
//! ```
//!
//! Each process has an ordinary bulkhead, with a *share* of the limit: a
//! [ceiling](bulklink::Ceiling) that the store has granted to it. Calls are admitted by their
//! process alone, and the sum of all shares is never above the limit.
//!
//! - [`Fleet`] is the part of one process, and [`Fleet::share`] shares the limit of a bulkhead;
//! - [`share`] has the machines of server and process, and the protocol, as plain values, for
//!   stores and tests;
//! - [`LeaseStore`] and [`Link`] are for stores to implement, such as `bulklink-redis`;
//! - [`MemoryStore`] is one for tests.
//!
//! With the feature `circuits`, processes also share the circuits of `bulklink-breaker`: see
//! [`Circuits`](circuits::Circuits).
//!
//! # Versions
//!
//! With the feature `serde`, the API has types of serde 1; events are of tracing 0.1.
//! Their next versions come with [one of this crate][versions].
//!
//! [versions]: https://github.com/bulklink/bulklink/blob/main/docs/VERSIONS.md

#![doc(html_root_url = "https://docs.rs/bulklink-fleet/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(feature = "circuits")]
pub mod circuits;
mod error;
mod fleet;
mod id;
mod memory;
mod name;
mod number;
mod pause;
pub mod share;
mod signal;
mod store;
mod timers;
mod trouble;

pub use error::{StoreError, StoreErrorKind};
pub use fleet::{
    BuildError, FencingToken, Fleet, FleetBuilder, FleetShare, JoinError, LeaseLost, Outage, RandomError, ResizeError,
    ShareBuilder, ShareConfig, ShareStatus, ceiling,
};
pub use id::{InvalidId, ProcessId};
#[cfg(feature = "circuits")]
pub use memory::MemoryChanges;
pub use memory::{MemoryLink, MemoryStore};
pub use name::{InvalidName, Name, Namespace};
pub use number::{Epoch, RunId, ServerTime, Token, Version};
pub use store::{LeaseStore, Link, Receiver, Server, Session};
