//! One limit for a fleet of processes, on Redis (7.0 or later) or Valkey (7.2 or later).
//!
//! Each process has a share of the limit and admits calls alone; the sum of all shares is never
//! above the limit. Units move as the load does, and come back from a process that crashes.
//!
//! ```no_run
//! # #[cfg(feature = "tokio")]
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use bulklink_redis::{Fleet, RedisStore};
//! use bulklink_tokio::{Bulkhead, Tokio};
//!
//! let store = RedisStore::new("redis://cache.internal")?;
//! let fleet = Fleet::builder(store, Tokio).namespace("prod").build()?;
//! let payments = Bulkhead::builder("payments").parallelism(8).waiting_room(100).build()?;
//! let share = fleet.share(&payments).limit(20).connect().await?;
//! let slot = payments.slot().await?;
//! # drop((slot, share));
//! # Ok(())
//! # }
//! ```
//!
//! [`RedisStore`] is the [`LeaseStore`] of a fleet. It connects on the runtime that polls it: on
//! tokio by the feature `tokio`, which is on unless it is switched off, on smol by the feature
//! `smol`. With both, it is tokio wherever a runtime of tokio is entered.
//!
//! With the feature `breaker`, `RedisStore::circuits` has circuits that processes share. A store
//! with TLS needs a provider of cryptography for `rustls`, which the program installs.
//!
//! This crate needs Rust 1.85, or 1.88 with version 1.3 or later of `redis`. The
//! [page of the guide][guide] has more.
//!
//! [guide]: https://github.com/bulklink/bulklink/blob/main/docs/guide/fleet.md
//!
//! # Rights
//!
//! The user of a service in the namespace `prod` needs no more than
//!
//! ```text
//! resetkeys resetchannels ~bl:{prod:* &bl:{prod:* -@all
//! +hello +ping +client|setname +info +script|load +evalsha
//! +ssubscribe +sunsubscribe +spublish
//! +time +exists +del +hget +hmget +hgetall +hset +hdel +hlen +hkeys
//! +zadd +zcard +zrem +zrange +zrangebyscore
//! ```
//!
//! Shared circuits need `+subscribe +publish` too.
//!
//! Without `+info`, no process notices that the server has restarted, or that it is a replica that
//! was promoted. So nothing holds new grants back after a loss of data: up to twice the limit can
//! run until the leases of before end. Without `+script|load`, `+eval` will do. To list names,
//! `+scan +cluster|slots` is needed too; and for another database than 0, `+select`.
//!
//! A server should have the policy `noeviction`. On a cluster, each name lives on one node.
//! Sentinel is not supported: [`RedisStore`](RedisStore#clusters-and-failover) has the
//! alternatives.
//!
//! # Versions
//!
//! A program chooses the cryptography of rustls 0.23. The client of the server is no part of the
//! API.
//! Their next versions come with [one of this crate][versions].
//!
//! [versions]: https://github.com/bulklink/bulklink/blob/main/docs/VERSIONS.md

#![doc(html_root_url = "https://docs.rs/bulklink-redis/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(all(feature = "breaker", any(feature = "tokio", feature = "smol")))]
pub mod breaker;
mod decode;
mod encode;
mod keys;
mod scripts;

#[cfg(any(feature = "tokio", feature = "smol"))]
mod error;
#[cfg(any(feature = "tokio", feature = "smol"))]
mod link;
#[cfg(any(feature = "tokio", feature = "smol"))]
mod list;
#[cfg(any(feature = "tokio", feature = "smol"))]
mod store;

#[cfg(any(feature = "tokio", feature = "smol"))]
pub use self::link::RedisLink;
#[cfg(any(feature = "tokio", feature = "smol"))]
pub use self::store::{InvalidStore, RedisStore, RedisStoreBuilder};

pub use bulklink_fleet::share::Tuning;
pub use bulklink_fleet::{
    BuildError, FencingToken, Fleet, FleetBuilder, FleetShare, InvalidName, JoinError, LeaseLost, LeaseStore, Name,
    Namespace, Outage, ProcessId, RandomError, ResizeError, ShareBuilder, ShareConfig, ShareStatus, StoreError,
    ceiling,
};

/// The protocol, for the tests of this crate. It may change in any release.
#[doc(hidden)]
pub mod plumbing {
    /// Has circuits read the time from a list of seconds and microseconds.
    #[cfg(all(feature = "breaker", any(feature = "tokio", feature = "smol")))]
    pub fn with_clock(circuits: crate::breaker::RedisCircuits, key: &str) -> crate::breaker::RedisCircuits {
        circuits.with_clock(key)
    }

    pub use crate::decode::{notice, reply, resized, state};
    pub use crate::encode::{Call, look, resize, sync};
    pub use crate::keys::Keys;
    pub use crate::scripts::Script;
}
