//! Pools: their model, their world, and the steps of their scripts.

mod gates;
mod laws;
mod lines;
mod lists;
mod model;
mod rules;
mod start;
mod steps;
mod world;

pub use gates::Gates;
pub use lines::{Driven, Settled};
pub use lists::Lists;
pub use model::{Call, Cost, Key, Line, Time};
pub use start::{Start, share};
pub use steps::Step;
pub use world::{Input, World};
