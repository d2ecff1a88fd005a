//! Partitions as subjects: the bare account with a gate for each, and the async front.

mod front;
mod gates;

pub use front::PartitionsFront;
pub use gates::PartitionedGates;
