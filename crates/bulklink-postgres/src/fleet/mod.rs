//! The limit of a fleet, on PostgreSQL.

mod hello;
mod link;
mod row;
mod shared;
mod step;
mod store;

pub use self::link::PostgresLink;
pub use self::store::{PostgresStore, PostgresStoreBuilder};

/// The form of rows, for the tests of this crate. It may change in any release.
#[doc(hidden)]
pub mod plumbing;
