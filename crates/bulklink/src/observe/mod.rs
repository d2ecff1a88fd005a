//! What an observer reads: status, capacity reports, events.

pub(crate) mod capacity_report;
pub(crate) mod channel;
pub(crate) mod event;
pub(crate) mod status;
