//! The readings of an observer: figures, reports and events, each with the label of its bulkhead.

pub(crate) mod channel;
pub(crate) mod event;
#[cfg(feature = "std")]
pub(crate) mod figures;
pub(crate) mod status;
pub(crate) mod trace;
