//! Spans of waits and events of rejections, for subscribers of the crate `tracing`. Without the
//! feature `tracing`, all of this is empty.

#[cfg(feature = "tracing")]
mod account;
#[cfg_attr(feature = "tracing", path = "on.rs")]
#[cfg_attr(not(feature = "tracing"), path = "off.rs")]
mod imp;

pub(crate) use imp::{Account, Aside, WaitSpan, is_on, rejected, take_wait};
