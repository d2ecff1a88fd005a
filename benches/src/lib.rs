//! Measures Bulklink beside its peers.
//!
//! Each goal has a file under `goals` with its rows, their limits and the scenes that are measured.
//! The programs beside this folder measure time, instructions (under callgrind) and memory (with a
//! counting allocator). Each writes its readings to a folder; the report joins them. `cargo xtask
//! bench` runs them all. `cargo bench` times the same scenes with criterion. `cargo xtask overload`
//! measures goodput.

#![forbid(unsafe_code)]

pub mod goal;
pub mod goals;
pub mod hand_made;
pub mod lines;
pub mod measure;
pub mod overload;
pub mod peers;
pub mod report;
pub mod scene;
pub mod series;
pub mod work;
