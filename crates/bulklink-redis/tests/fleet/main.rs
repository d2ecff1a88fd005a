//! Fleets on real servers, through the public interface, on tokio and on smol.

#![cfg(unix)]

mod faults;
mod network;
mod world;
