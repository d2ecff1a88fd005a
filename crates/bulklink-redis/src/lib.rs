//! One limit for a fleet of processes, on Redis (7.0 or later) or Valkey (7.2 or later).
//!
//! So far this crate has the protocol: the scripts that the server runs, how a
//! [`Command`] becomes a call of one, and how its reply becomes an [`Answer`]. There is no
//! connection yet.

#![forbid(unsafe_code)]

mod decode;
mod encode;
mod keys;
mod scripts;

pub use bulklink_fleet::*;

/// The protocol, for the tests of this crate. It may change in any release.
#[doc(hidden)]
pub mod plumbing {
    pub use crate::decode::{answer, notice};
    pub use crate::encode::{Call, call};
    pub use crate::keys::Keys;
    pub use crate::scripts::Script;
}
