//! The core's gate behind a lock, the word in front of it, and the outputs of an input.

pub(crate) mod ceilings;
pub(crate) mod closed;
pub(crate) mod delivery;
pub(crate) mod drivers;
pub(crate) mod enter;
mod fast;
pub(crate) mod latch;
pub(crate) mod lock;
pub(crate) mod outputs;
pub(crate) mod park;
pub(crate) mod patience;
pub(crate) mod rate;
pub(crate) mod shared;
pub(crate) mod state;
