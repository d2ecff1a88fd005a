//! Fleets on real servers, through the public interface, on tokio and on smol.

#![cfg(unix)]

mod causes;
mod faults;
mod keys;
mod network;
mod world;
