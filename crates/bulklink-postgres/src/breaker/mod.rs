//! Circuits that processes share, on PostgreSQL (14 or later).
//!
//! A circuit is one row. Each operation is one statement, on the database's clock, and waits for no
//! disk. Transitions are told by `NOTIFY` with the whole row.
//!
//! # Setting up
//!
//! Nothing is created at run time: an administrator calls [`PostgresCircuits::set_up`] once, or
//! runs [`Part::statements`](crate::Part::statements) of [`Part::Breaker`](crate::Part), and gives
//! each service its rights by [`Part::grants`](crate::Part::grants).

mod changes;
#[cfg(feature = "deadpool")]
mod pool;
mod session;
mod statement;
mod store;
mod wire;

pub use self::changes::PostgresChanges;
pub use self::store::{PostgresCircuits, PostgresCircuitsBuilder};
