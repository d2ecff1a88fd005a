//! Fleets of several processes on the store in memory, on virtual time.

mod admission;
mod awaited;
mod build;
mod faults;
mod foreign;
mod leaving;
mod limits;
mod odd;
mod outage;
mod random;
mod reuse;
mod scene;
mod stuck;
mod threads;
mod watched;
