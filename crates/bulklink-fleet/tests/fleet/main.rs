//! Fleets of several processes on the store in memory, on virtual time.

mod admission;
mod build;
mod faults;
mod limits;
mod outage;
mod reuse;
mod scene;
