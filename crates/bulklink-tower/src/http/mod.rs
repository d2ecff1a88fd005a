//! HTTP: bodies that hold slots, and rejections as responses.

mod body;
mod hold;
mod respond;

pub use body::Body;
pub use hold::{HeldSlot, HoldBody, HoldSlot};
pub use respond::{Respond, Responses};
