//! Private Redis and Valkey servers for tests, and what can happen to them.
//!
//! A [`Server`] lives in its own temporary folder and listens on a socket there, and on a free port
//! of the loopback if it is asked to. It ends with its value, also while a test panics, and with
//! the test process, also if that is killed. A server that runs already is never touched.
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
//! The program is the one that `BULKLINK_REDIS_BIN` names, else `redis-server`, else
//! `valkey-server`. Where it is missing, [`require!`] skips the test and says so on the standard
//! error; with `CI=true` or `BULKLINK_REQUIRE_SERVERS=1` it fails the test.

#![cfg(unix)]
#![forbid(unsafe_code)]

mod builder;
mod client;
mod cluster;
mod guard;
mod missing;
mod program;
mod proxy;
mod server;
mod tls;
mod user;

pub use builder::Builder;
pub use client::{Connection, Reply};
pub use cluster::Cluster;
pub use missing::Missing;
pub use proxy::Proxy;
pub use server::{Data, Server};
pub use user::User;
