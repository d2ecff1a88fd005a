//! Circuits that processes share, on PostgreSQL (14 or later).
//!
//! A circuit is one row. An operation that changes something locks it, does a step of the circuit
//! on the database's clock and writes it, in a transaction that waits for no disk; those that come
//! meanwhile share the next one. Transitions are sent by `NOTIFY`, with the numbers of the row.
//!
//! Every role that can connect to the database can send such messages. A forged one counts until
//! the next answer of the store: use a database of trusted roles.

mod changes;
mod rows;
mod store;

pub use self::changes::PostgresChanges;
pub use self::store::PostgresCircuits;
