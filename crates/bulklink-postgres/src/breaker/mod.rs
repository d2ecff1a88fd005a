//! Circuits that processes share, on PostgreSQL (14 or later).
//!
//! A circuit is one row. Each operation locks it, does a step of the circuit on the database's
//! clock and writes it, in one transaction that waits for no disk. Transitions are sent by `NOTIFY`
//! with the whole row.

mod changes;
mod rows;
mod store;

pub use self::changes::PostgresChanges;
pub use self::store::PostgresCircuits;
