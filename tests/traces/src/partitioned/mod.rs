//! Partitions as subjects: the core's partitions with a gate each, and the async front.

mod front;
mod gates;

pub use front::PartitionsFront;
pub use gates::PartitionedGates;
