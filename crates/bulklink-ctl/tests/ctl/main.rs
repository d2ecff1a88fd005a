//! The program as it is, against private servers.

#![cfg(unix)]

mod circuit;
mod circuit_rights;
mod cluster;
mod failures;
mod hostile;
mod rights;
mod setup;
mod share;
mod watch;
mod world;
