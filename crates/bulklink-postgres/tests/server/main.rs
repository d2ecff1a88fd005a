//! Links and fleets on real servers.

#![cfg(unix)]

mod causes;
mod faults;
mod rights;
mod suite;
mod tls;
mod world;
