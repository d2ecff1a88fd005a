//! Partitions: their model, their world, and the steps of their scripts.

mod model;
mod steps;
mod world;

pub use model::{Call, Key, Time};
pub use steps::Step;
pub use world::{Input, KEYS, Start, World};
