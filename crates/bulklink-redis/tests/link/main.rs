//! The link to real servers, on tokio and on smol.

#![cfg(unix)]

mod basic;
mod cluster;
mod faults;
mod garbage;
mod refusals;
mod tls;
mod world;
