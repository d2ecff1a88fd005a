//! The link to real servers, on tokio and on smol.

#![cfg(unix)]

mod basic;
mod world;
