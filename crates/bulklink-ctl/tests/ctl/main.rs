//! The program as it is, against private servers.

#![cfg(unix)]

mod breaker;
mod breaker_rights;
mod cluster;
mod commands;
mod failures;
mod hostile;
mod pages;
mod rights;
mod watch;
mod world;
