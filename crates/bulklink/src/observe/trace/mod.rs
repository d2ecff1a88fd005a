//! Spans of waits and events of rejections, for subscribers of the crate `tracing`. Without the
//! feature `tracing`, all of this is empty.

#[cfg(feature = "tracing")]
mod account;
#[cfg_attr(feature = "tracing", path = "on.rs")]
#[cfg_attr(not(feature = "tracing"), path = "off.rs")]
mod imp;

#[cfg(not(feature = "tracing"))]
pub(crate) use imp::{Account, is_on};
#[cfg(feature = "tracing")]
pub use imp::{Account, is_on, limited, shortened};
pub(crate) use imp::{Aside, WaitSpan, limit_failed, limit_moved, rejected, take_wait};
