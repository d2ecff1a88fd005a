//! Front and breaker under loom: small scenes of two or three threads, each run in every order that
//! the lock allows.
//!
//! Loom interrupts threads at the lock, the atomics of the fast path, the clock, and the wakers of
//! `block_on`. Counting wakers and recorders are plain `std`. A search is complete unless its scene
//! bounds the preemptions; `LOOM_MAX_PREEMPTIONS` sets another bound for all scenes. With
//! `--nocapture` each scene prints its number of executions and all its outcomes.
#![cfg(bulklink_loom)]

mod arrival;
mod blocking;
mod breaker;
mod call;
mod ceilings;
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
mod parts;
mod pause;
mod queue;
mod readiness;
mod recorder;
mod registry;
mod resize;
mod shared;
mod submit;
mod uncollected;
mod unmeasured;
mod wakers;
