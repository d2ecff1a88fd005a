//! The circuit of a breaker: its model, its rules, its world, and the steps of its scripts.

mod model;
mod rules;
mod steps;
mod world;

pub use model::{Limit, Setup, Span, Time};
pub use steps::Step;
pub use world::{Input, Start, World};
