//! The link to real servers, on tokio and on smol.

#![cfg(unix)]

mod basic;
mod cluster;
mod fake;
mod faults;
mod garbage;
mod redirections;
mod refusals;
mod tls;
mod world;
