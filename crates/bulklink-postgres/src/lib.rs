//! One limit for a fleet of processes, on PostgreSQL (14 or later), where there is no Redis.
//!
//! Each process has a share of the limit and admits calls alone; the sum of all shares is never
//! above the limit. Units move as the load does, and come back from a process that crashes.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use bulklink_postgres::{Fleet, PostgresStore};
//! use bulklink_tokio::{Bulkhead, Tokio};
//!
//! let store = PostgresStore::new("postgresql://service:password@db/app")?;
//! let fleet = Fleet::builder(store, Tokio).namespace("prod").build()?;
//! let payments = Bulkhead::builder("payments").parallelism(8).waiting_room(100).build()?;
//! let share = fleet.share(&payments).limit(20).connect().await?;
//! let slot = payments.slot().await?;
//! # drop((slot, share));
//! # Ok(())
//! # }
//! ```
//!
//! [`PostgresStore`] is the [`LeaseStore`] of a fleet, on tokio. It is slower than the store of
//! [`bulklink-redis`](https://docs.rs/bulklink-redis): a command takes two round trips, and the
//! server writes it to its disk.
//!
//! With the feature `breaker`, [`PostgresStore::circuits`] has circuits that processes share. A
//! store with TLS needs a provider of cryptography for `rustls`, which the program installs. The
//! [page of the guide][guide] has more.
//!
//! [guide]: https://github.com/bulklink/bulklink/blob/main/docs/guide/fleet.md
//!
//! # Setting up
//!
//! Nothing is created at run time: an administrator calls [`PostgresStore::set_up`] once, or runs
//! [`Part::statements`], and then gives each service its rights by [`Part::grants`].
//!
//! # Requirements of the server
//!
//! - Its version is 14 or later: that is not checked, and older ones are not tested.
//! - A fleet has one connection to the primary, for as long as it runs; circuits have two, for
//!   operations and for transitions. A pooler such as `PgBouncer` may be between only in its mode
//!   `session`.
//! - A name is a row, and each command locks it. A process that stops with a lock loses its
//!   connection: see [`PostgresStoreBuilder::lock_timeout`].
//! - After a crash, after a standby was promoted and in a restored backup, nothing is granted until
//!   all leases of before are known or over: an unlogged table shows it.
//!
//! # Versions
//!
//! A program chooses the cryptography of rustls 0.23. The client of the server is no part of the
//! API.
//! Their next versions come with [one of this crate][versions].
//!
//! [versions]: https://github.com/bulklink/bulklink/blob/main/docs/VERSIONS.md

#![doc(html_root_url = "https://docs.rs/bulklink-postgres/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(feature = "breaker")]
pub mod breaker;
mod check;
mod error;
mod fleet;
mod schema;
mod server;
mod session;
mod worker;

use thiserror::Error;

pub use self::check::Check;
pub use self::schema::{Part, set_up_statements};

pub use self::fleet::{PostgresLink, PostgresStore, PostgresStoreBuilder, plumbing};

pub use bulklink_fleet::share::Tuning;
pub use bulklink_fleet::{
    BuildError, FencingToken, Fleet, FleetBuilder, FleetShare, InvalidName, JoinError, LeaseLost, LeaseStore, Name,
    Namespace, Outage, ProcessId, RandomError, ResizeError, ShareBuilder, ShareConfig, ShareStatus, StoreError,
    ceiling,
};

/// The error of a store that cannot be made. It never contains the URL or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidStore {
    /// The URL does not begin with `postgresql://` or `postgres://` and is not of pairs as
    /// `host=db user=service`, or it is malformed, or it names no host.
    #[error(
        "the URL must begin with postgresql:// or postgres://, or be key=value pairs; it must name a host, and \
         have @ and ? in a password as %40 and %3F"
    )]
    Url,
    /// The certificates cannot be read.
    #[error("the certificates cannot be read")]
    Certificates,
    /// TLS is demanded, and the program has not installed what `rustls` computes with.
    #[error("TLS needs a provider of cryptography, which the program has to install")]
    NoCryptoProvider,
}
