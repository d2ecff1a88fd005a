//! Links and fleets on real servers.

#![cfg(unix)]

mod faults;
mod rights;
mod suite;
mod tls;
mod world;
