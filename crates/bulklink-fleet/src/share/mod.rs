//! Shares: the limit of a fleet as units that move between processes, in two pure machines.
//!
//! Each process has an ordinary bulkhead, and admits calls locally. A server assigns the units of
//! the limit to the processes. One command moves them: a process sends a [`Statement`] of its whole
//! condition, and the reply is its [`Grant`].
//!
//! - [`Allocator`] is the server's machine for one name;
//! - [`Share`] is the machine of one process for one name: how many units it may use, and until
//!   when;
//! - [`Policy`] decides when a process states its condition, and how much of its share it keeps.
//!
//! The first two keep the limit whatever the policy does: tests run them with arbitrary decisions.
//!
//! The values of the protocol are plain, because stores build them: a field is added to one in a
//! release that breaks other stores alone. Programs need none of them.
//!
//! ```
//! use std::time::Duration;
//!
//! use bulklink::runtime::Instant;
//! use bulklink_fleet::share::{Allocator, Connection, Declaration, Demand, Share, Terms};
//! use bulklink_fleet::{ProcessId, ServerTime};
//!
//! let declaration = Declaration { config: 1, limit: 10, terms: Terms::default() };
//! let mut share = Share::new(ProcessId::from(7), 1, declaration);
//! let mut server = Allocator::default();
//!
//! let now = Instant::from_nanos(1_000);
//! let demand = Demand { need: 3, ..Demand::default() };
//! let statement = share.send(now, Connection::default(), demand);
//! let time = ServerTime::from(1);
//! let reply = server.sync(time, &statement, &mut |_| true).unwrap();
//! share.take(now, &reply);
//! assert_eq!(share.usable(now), 3);
//! let later = now.saturating_add(Duration::from_secs(10));
//! assert_eq!(share.usable(later), 0, "its lease is over");
//! ```

mod allocator;
mod holder;
mod policy;
mod refusal;
mod statement;

pub use allocator::{Allocator, RowStatus, Status, Texts};
pub use holder::{Connection, Demand, Share};
pub(crate) use policy::units;
pub use policy::{Decision, Policy, Tuning};
pub use refusal::{Conflict, Difference, LimitRefusal, Refusal};
pub use statement::{Answer, Declaration, Grant, Level, Notice, Reply, Statement, Terms};
