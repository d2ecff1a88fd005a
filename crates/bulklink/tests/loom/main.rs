//! The front under loom: small models of two or three threads, each run in every order that its lock allows.
//!
//! What threads can be interrupted in is the lock, the clock, and the wakers of `block_on`; counting wakers and recorders are
//! plain `std`. Searches are complete, but where a model bounds how often threads are interrupted; `LOOM_MAX_PREEMPTIONS` sets
//! another bound, for all. With `--nocapture` each model prints how many executions it took, and all that they came to.
#![cfg(bulklink_loom)]

mod arrival;
mod blocking;
mod call;
mod closing;
mod deadline;
mod driver;
mod event_channel;
mod events;
mod fast;
mod handover;
mod model;
mod observed;
mod partitions;
mod queue;
mod recorder;
mod registry;
mod resize;
mod submit;
mod unmeasured;
mod wakers;
