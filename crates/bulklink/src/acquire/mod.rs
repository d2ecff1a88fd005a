//! Acquiring a slot, holding it, and running an operation in it.

pub(crate) mod claim;
pub(crate) mod execute;
pub(crate) mod future;
pub(crate) mod slot;
pub(crate) mod ticket;
pub(crate) mod wrap;
