//! The admission state machine of Bulklink: who may start, who waits, who is turned away.
//!
//! A [`Gate`] is plain data with plain `&mut self` methods. It never waits, wakes, locks or reads a clock: time comes in as
//! an argument, and effects on others are pulled out. So one and the same machine decides on a microcontroller, under an
//! async front (the crate `bulklink`), inside a simulation, and in a test that tries every script of inputs.
//!
//! # The contract
//!
//! Whoever drives a gate repeats one cycle, in its own lock if it has one:
//!
//! 1. **Input**: call one of [`enter`](Gate::enter), [`collect`](Gate::collect), [`release`](Gate::release),
//!    [`abandon`](Gate::abandon), [`cancel`](Gate::cancel), [`resize`](Gate::resize), [`close`](Gate::close). Its return value
//!    is the caller's own answer.
//! 2. **Advance**: if [`wants_now`](Gate::wants_now), read the clock and call [`advance`](Gate::advance). Slots move in that
//!    one call only: it first expires whoever is late, then admits from the head of the queue.
//! 3. **Drain**: take what [`poll_wake`](Gate::poll_wake) and, if observed, [`poll_event`](Gate::poll_event) give until they
//!    give nothing.
//! 4. **Unlock**, and only then wake, run handlers and drop what was displaced.
//!
//! Besides, somebody must call [`advance`](Gate::advance) when [`next_deadline`](Gate::next_deadline) comes, or a late
//! waiter learns of it only with the next input. A late call expires everyone who is late; whoever wants each expiry at its
//! exact instant steps from one `next_deadline` to the next.
//!
//! Between step 1 and step 2 other inputs may come (another thread may hold the lock): nothing is lost and nobody overtakes.
//!
//! # Who needs the time
//!
//! Nobody, while nobody waits: [`enter_untimed`](Gate::enter_untimed) decides alone wherever time cannot matter. As soon as
//! anyone waits whose wait is measured or can end ([`needs_now`](Gate::needs_now)), what judges room or hands slots on takes `now`,
//! and first expires the late; else [`advance_untimed`](Gate::advance_untimed) and [`cancel_untimed`](Gate::cancel_untimed) do.
//! [`release`](Gate::release), [`abandon`](Gate::abandon), [`collect`](Gate::collect) and [`cancel`](Gate::cancel) never take it.
//! [`decide`](Gate::decide) is both ways of entering in one, and parks the waker.
//!
//! # One account
//!
//! Capacity counts in units and each request costs at least one, so the plain bulkhead and the weighted one are the same
//! machine. After every input, in units: in use + free = capacity + owed, where something is owed only after shrinking, and
//! then nothing is free.
//!
//! # Many gates
//!
//! [`partitions`] keeps the account of gates that are made as they are needed, one for each key of the caller's.
//!
//! # Example
//!
//! ```
//! use bulklink_core::{Collected, Entry, Gate, Instant, Limits, Request};
//! use core::time::Duration;
//!
//! let mut gate: Gate<&str> = Gate::new(Limits { capacity: 1, waiting_room: 1, wait_limit: Some(Duration::from_secs(2)) })?;
//! let now = Instant::from_nanos(0);
//!
//! let Entry::Granted(first) = gate.enter(&Request::new(), now)? else { panic!("there was room") };
//! let Entry::Queued(ticket) = gate.enter(&Request::new(), now)? else { panic!("the slot was taken") };
//! gate.park(&ticket, "the second caller");
//! assert!(matches!(gate.enter(&Request::new(), now)?, Entry::Rejected(_)));
//!
//! gate.release(first);
//! assert!(gate.wants_now());
//! gate.advance(now + Duration::from_millis(5));
//! assert_eq!(gate.poll_wake(), Some("the second caller"));
//!
//! let Collected::Granted(second) = gate.collect(ticket) else { panic!("it was handed the slot") };
//! gate.release(second);
//! # Ok::<(), bulklink_core::InvalidArgument>(())
//! ```

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod event;
mod fifo;
mod gate;
mod instant;
mod interval;
mod invalid;
mod limits;
mod list;
pub mod partitions;
mod queue;
mod rejection;
mod report;
mod request;
mod slab;
mod snapshot;
mod totals;
mod word;

pub use event::{Event, EventKind};
pub use gate::{Collected, Decision, Entry, Gate, Grant, ResizeError, Resized, Watch};
pub use instant::Instant;
pub use interval::{Interval, IntervalError};
pub use invalid::InvalidArgument;
pub use limits::Limits;
pub use queue::Ticket;
pub use rejection::{Occupancy, Reason, Rejection};
pub use report::{CapacityReport, Finding, FindingCode, Severity};
pub use request::{PackedRequest, Request};
pub use snapshot::Snapshot;
pub use totals::Totals;
pub use word::{Refusal, Word};
