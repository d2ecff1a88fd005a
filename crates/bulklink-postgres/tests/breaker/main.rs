//! Circuits on a real server: the suite of all stores, and the particulars of PostgreSQL.

#![cfg(unix)]

mod faults;
mod rows;
mod sessions;
mod setup;
mod sites;
mod world;

bulklink_circuits::suite!(bulklink_servers::require!(world::Postgresql::start()));
