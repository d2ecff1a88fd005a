//! Bulklink side by side with its peers: what is promised, how it is measured, and how it is told.
//!
//! Each goal lies in a file of its own under `goals`: its rows, their limits, and the scenes that are measured for them. The
//! programs beside this folder measure: time in one process, instructions under callgrind, memory under a counting allocator.
//! Each leaves its readings in a folder, and the report joins them. `cargo xtask bench` runs them all.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::float_cmp, reason = "what goes in comes out"))]

pub mod goal;
pub mod goals;
pub mod measure;
pub mod peers;
pub mod report;
pub mod scene;
pub mod work;
