//! The simulation against closed forms, its sums, and that its bytes are the same everywhere.

#![expect(clippy::cast_precision_loss, reason = "counts of a run are small")]

mod closed_forms;
mod document;
mod queues;
mod same_bytes;
mod sums;

use bulklink_overload::contestants::fixed;
use bulklink_overload::plant::Plant;
use bulklink_overload::simulation::{Run, run};

/// Runs a plant with a limit that never changes.
fn run_fixed(plant: &Plant, limit: u32) -> Run {
    run(plant, &mut *fixed(limit), 7)
}
