//! One limit for a fleet of processes: the part without any store.
//!
//! A fleet shares a bulkhead by *leases* on a server. The server decides by its own clock, queues
//! calls in FIFO order and pushes grants to the process that waits. This crate has what does not
//! depend on the kind of server:
//!
//! - [`Name`], [`OwnerId`] and [`CallId`]: what bulkheads, processes and calls are called;
//! - [`Command`], [`Answer`] and [`Notice`]: the protocol, as plain values;
//! - [`LeaseStore`] and [`Link`]: what a store implements to carry them;
//! - [`Table`]: what a server does with each command;
//! - [`Owner`]: what a process knows, and what it sends.
//!
//! With the feature `circuits`, processes also share the circuits of `bulklink-breaker`: see
//! [`Circuits`](circuits::Circuits).

#![forbid(unsafe_code)]

#[cfg(feature = "circuits")]
pub mod circuits;
mod command;
mod event;
mod fleet;
mod id;
mod memory;
mod name;
mod owner;
mod pause;
mod rejection;
pub mod share;
mod store;
mod table;

pub use command::{
    Answer, Command, Epoch, Era, Head, Notice, Outcome, RunId, ServerTime, SessionStatus, Settings, Status, Terms,
    Ticket, Token, Version,
};
pub use event::{Event, EventKind, LocalStatus, Totals};
pub use fleet::{
    BuildError, BulkheadBuilder, ConnectError, ExecuteError, Fleet, FleetBuilder, FleetBulkhead, Outage, Permit,
    RandomError, SetLimitError, Wrapped,
};
pub use id::{CallId, InvalidId, OwnerId};
pub use memory::{MemoryLink, MemoryStore};
pub use name::{InvalidName, Name, Namespace};
pub use owner::{Declaration, Output, Owner};
pub use rejection::{Conflict, Occupancy, Reason, Rejection};
pub use store::{LeaseStore, Link, Receiver, Server, Session, StoreError};
pub use table::{Cuts, Table};

/// The page of the guide on the circuit breaker, with examples that are tested here: the last one
/// shares its circuit.
#[cfg(all(doctest, feature = "circuits"))]
#[doc = include_str!("../../../docs/guide/circuit-breaker.md")]
struct Guide;
