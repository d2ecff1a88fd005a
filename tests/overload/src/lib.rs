//! Compares rules for a concurrency limit in virtual time: with the same arrivals, at a real gate,
//! before the same backends. `cargo xtask overload --sim` runs it and writes `docs/OVERLOAD.md`.
//!
//! A run depends on its plant, its controller and its seed only, and gives the same bytes on every
//! machine: floating-point functions beyond arithmetic and the square root are those of `libm`.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "times and counts of a run are small"
)]
#![expect(clippy::return_self_not_must_use, reason = "plants are put together in tables")]

pub mod backend;
pub mod best;
pub mod contestants;
pub mod describe;
pub mod document;
pub mod known;
pub mod peers;
pub mod plant;
pub mod plants;
pub mod pool;
pub mod queues;
pub mod random;
pub mod results;
pub mod score;
pub mod simulation;
pub mod table;
