//! Circuits on a real server: the suite of all stores, and the particulars of Redis.

#![cfg(unix)]

#[path = "../link/fake.rs"]
mod fake;
mod faults;
mod rows;
mod sites;
mod world;

bulklink_circuits::suite!(bulklink_servers::require!(world::Redis::start()));
