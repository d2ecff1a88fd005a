//! Private servers of Redis, Valkey, PostgreSQL and Prometheus for tests, and faults for them.
//!
//! A [`Server`], of Redis or Valkey, and a [`Postgres`] live in their own temporary folder and
//! listen on a socket there, and on a free port of the loopback if they are asked to. A
//! [`Prometheus`] listens on a port of the loopback. They end with their value, also while a test
//! panics, and with the test process, also if that is killed. A server that runs already is never
//! touched.
//!
//! ```
//! use bulklink_servers::{Data, Server, require};
//!
//! fn main() {
//!     let mut server = require!(Server::start());
//!     server.call(&["SET", "key", "value"]);
//!     server.restart(Data::Keep);
//!     assert_eq!(server.call(&["GET", "key"]).text(), "value");
//! }
//! ```
//!
//! ```
//! use bulklink_servers::{Postgres, require};
//!
//! fn main() {
//!     let server = require!(Postgres::start());
//!     assert_eq!(server.value("SELECT 6 * 7"), "42");
//! }
//! ```
//!
//! The program of Redis is the one that `BULKLINK_REDIS_BIN` names, else `redis-server`, else
//! `valkey-server`. Those of PostgreSQL are in the folder that `BULKLINK_POSTGRES_BIN` names, else
//! on the search path, else where Debian has them. As PostgreSQL refuses root, root runs it as the
//! user `nobody`. Those of Prometheus are in the folder that `BULKLINK_PROMETHEUS_BIN` names, else
//! on the search path, else where `cargo xtask test` unpacks Debian's package. Where a program is
//! missing, [`require!`] skips the test with a notice on the standard error; with `CI=true` or
//! `BULKLINK_REQUIRE_SERVERS=1` it fails the test.

#![cfg(unix)]
#![forbid(unsafe_code)]

mod builder;
mod client;
mod cluster;
mod guard;
mod missing;
mod network;
mod place;
mod postgres;
mod program;
mod prometheus;
mod proxy;
mod server;
mod tls;
mod user;

pub use builder::Builder;
pub use client::{Connection, Reply};
pub use cluster::Cluster;
pub use missing::Missing;
pub use network::Network;
pub use postgres::{Postgres, PostgresBuilder, SqlError, SqlSession};
pub use prometheus::{Prometheus, Promtool, Sample};
pub use proxy::Proxy;
pub use server::{Data, Server};
pub use user::User;
