//! The core's gate behind its lock, the word in front of it, and what an input leaves to be done.

pub(crate) mod closed;
pub(crate) mod drivers;
mod fast;
pub(crate) mod latch;
pub(crate) mod lock;
pub(crate) mod outputs;
pub(crate) mod shared;
pub(crate) mod waker_cell;
