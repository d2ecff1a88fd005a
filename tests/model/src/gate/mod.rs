//! The gate: its model, its world, and the steps of its scripts.

mod ask;
mod calls;
mod check;
mod filters;
mod history;
mod measured;
mod model;
mod restricted;
mod searched;
mod steps;
mod tickets;
mod world;

pub use ask::Ask;
pub use filters::{FILTERS, FILTERS_WITH_A_WORD};
pub use model::{Id, Limited, Time};
pub use restricted::Restricted;
pub use steps::{RawLimits, RawRequest, ScriptedWorld, Step};
pub use world::{Extra, Input, Start, World};
