//! The admission state machine of Bulklink: it decides which requests run, which wait and which are
//! rejected.
//!
//! A [`Gate`] is plain data with plain `&mut self` methods. It never waits, wakes, locks or reads a
//! clock: the caller passes the time in and pulls the effects on other callers out. So the same
//! machine decides on a microcontroller, under an async front (the crate `bulklink`), inside a
//! simulation, and in a test that tries every script of inputs.
//!
//! # The contract
//!
//! The code that drives a gate repeats one cycle, under its own lock if it has one:
//!
//! 1. **Input**: call one of [`enter`](Gate::enter), [`collect`](Gate::collect),
//!    [`release`](Gate::release), [`abandon`](Gate::abandon), [`cancel`](Gate::cancel),
//!    [`resize`](Gate::resize), [`reconfigure`](Gate::reconfigure), [`pause`](Gate::pause),
//!    [`resume`](Gate::resume), [`close`](Gate::close). Its return value is the caller's own
//!    answer.
//! 2. **Advance**: if [`wants_now`](Gate::wants_now), read the clock and call
//!    [`advance`](Gate::advance). Slots move in that call only: it first expires waiters that are
//!    due, then admits from the head of the queue.
//! 3. **Drain**: call [`poll_wake`](Gate::poll_wake) and, if the gate is observed,
//!    [`poll_event`](Gate::poll_event) until they return `None`.
//! 4. **Unlock**, and only then wake, run handlers and drop displaced wakers.
//!
//! Also call [`advance`](Gate::advance) when [`next_deadline`](Gate::next_deadline) comes;
//! otherwise a waiter that is past its deadline learns of it only with the next input. A call that
//! comes later expires all such waiters together; for exact instants, step from one `next_deadline`
//! to the next.
//!
//! Other inputs may come between step 1 and step 2 (another thread may take the lock): nothing is
//! lost and no request overtakes another.
//!
//! # When is the time needed?
//!
//! Not while no request waits: [`enter`](Gate::enter) without the time decides wherever time makes
//! no difference. As soon as a request waits with a wait that is measured or can end by itself
//! ([`needs_now`](Gate::needs_now)), inputs that depend on room or move slots need it, and expire
//! waiters first. [`enter`](Gate::enter), [`cancel`](Gate::cancel) and [`advance`](Gate::advance)
//! take `Option<Instant>`: without the time, they report where they need it, and have no effect
//! then. [`release`](Gate::release), [`abandon`](Gate::abandon) and [`collect`](Gate::collect)
//! never need it.
//!
//! # Single calls
//!
//! The gate decides about admission, and keeps no account of the operation after it. [`Calls`]
//! does, for programs that need it: beside a gate, it ends the wait of a call whose operation has a
//! [deadline](Request::deadline) early enough, measures how long slots are held, and takes back
//! those that are not collected.
//!
//! # Figures
//!
//! A [snapshot](Gate::snapshot) has all counters, and is cheap enough to be taken at any time. With
//! the feature `histogram`, which the front's `std` turns on, a gate also counts its waits by their
//! length, in a `Histogram` of 2 KB that is allocated with the first wait, and [`Calls`] that
//! [measure](Calls::measure_holds) holds do so with these, and sum the units in use over time.
//! Without the feature, none of this costs memory or code.
//!
//! # Conservation of units
//!
//! Capacity counts in units and each request costs at least one, so the plain bulkhead and the
//! weighted one are the same machine. After every input, in units: in use + free = capacity + owed.
//! Units are owed only after the capacity was reduced below the units in use, and then none are
//! free. While the gate is paused, requests get none of the free units, and snapshots count them as
//! zero.
//!
//! # Many gates
//!
//! [`partitions`] keeps the account of gates that are made on demand, one for each key.
//!
//! # Example
//!
//! ```
//! use bulklink_core::{Answer, Gate, Instant, Limits, Request};
//! use core::time::Duration;
//!
//! let wait_limit = Some(Duration::from_secs(2));
//! let limits = Limits::new(1).with_waiting_room(1).with_wait_limit(wait_limit);
//! let mut gate: Gate<&str> = Gate::new(limits)?;
//! let now = Instant::from_nanos(0);
//!
//! let request = Request::new();
//! let Answer::Granted(first) = gate.enter(&request, Some(now))? else { panic!() };
//! let Answer::Queued(ticket) = gate.enter(&request, Some(now))? else { panic!() };
//! gate.waker_mut(&ticket).expect("it waits").replace("the second caller");
//! assert!(matches!(gate.enter(&request, Some(now))?, Answer::Rejected(_)));
//!
//! gate.release(first);
//! assert!(gate.wants_now());
//! gate.advance(Some(now + Duration::from_millis(5)));
//! assert_eq!(gate.poll_wake(), Some("the second caller"));
//!
//! let Answer::Granted(second) = gate.collect(ticket) else { panic!("not granted") };
//! gate.release(second);
//! # Ok::<(), bulklink_core::InvalidArgument>(())
//! ```

#![doc(html_root_url = "https://docs.rs/bulklink-core/latest")]
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

extern crate alloc;

mod busy;
mod calls;
mod coarse;
mod event;
mod fifo;
mod fork;
mod gate;
mod grant;
mod heap;
#[cfg(feature = "histogram")]
mod histogram;
#[cfg(not(feature = "histogram"))]
#[path = "no_histogram.rs"]
mod histogram;
mod instant;
mod interval;
mod invalid;
pub mod limit;
mod limits;
mod list;
pub mod partitions;
#[cfg(feature = "restriction")]
pub mod pool;
mod queue;
mod rejection;
mod report;
mod request;
mod reserve;
mod rounded;
mod slab;
mod snapshot;
mod totals;
mod word;

pub use calls::Calls;
pub use event::{Event, EventFilter, EventKind};
#[cfg(feature = "restriction")]
pub use gate::Load;
pub use gate::{Answer, Gate, ResizeError, Resized, Restriction};
pub use grant::Grant;
#[cfg(feature = "histogram")]
pub use histogram::Histogram;
pub use instant::Instant;
pub use interval::{Interval, IntervalError};
pub use invalid::InvalidArgument;
pub use limits::Limits;
pub use queue::Ticket;
pub use rejection::{Occupancy, Reason, Rejection};
pub use report::{CapacityReport, Finding, FindingCode, Severity};
pub use request::Request;
pub use reserve::Reserve;
pub use rounded::Rounded;
pub use snapshot::Snapshot;
pub use totals::Totals;

/// The needs of the front, the crate `bulklink`, besides a gate's inputs and outputs.
///
/// It may change in any version. So the front depends on exactly its own version of this crate, and
/// so should other code that uses this module.
pub mod plumbing {
    use crate::{Answer, Gate, Grant, Instant, InvalidArgument, Rejection, Request, Ticket, Totals};
    #[cfg(feature = "histogram")]
    use crate::{Calls, Histogram};

    pub use crate::fifo::Wakes;
    pub use crate::fork::Fork;
    pub use crate::gate::Watch;
    #[cfg(feature = "histogram")]
    pub use crate::histogram::{CountBuckets, SharedCounts};
    pub use crate::queue::Joining;
    pub use crate::word::{Refusal, Word};

    /// Makes a gate count its waits in the histogram of several gates, instead of one of its own.
    #[cfg(feature = "histogram")]
    pub fn share_waits<W>(gate: &mut Gate<W>, counts: SharedCounts) {
        gate.share_waits(counts);
    }

    /// Makes an account count its holds in the histogram of several, instead of one of its own.
    #[cfg(feature = "histogram")]
    pub fn share_holds(calls: &mut Calls, counts: SharedCounts) {
        calls.share_holds(counts);
    }

    /// Replaces all counts of a histogram by the result of `count` for the number of each bucket.
    #[cfg(feature = "histogram")]
    pub fn fill(histogram: &mut Histogram, count: impl Fn(usize) -> u64) {
        histogram.fill(count);
    }

    /// Returns the units that the waiting requests ask for.
    #[must_use]
    pub fn waiting_units<W>(gate: &Gate<W>) -> u64 {
        gate.waiting_units()
    }

    /// Returns since when the first of the waiting requests has waited: the oldest wait. `None` if
    /// none waits, or if the wait of the first is not [measured](Gate::measure_waits).
    #[must_use]
    pub fn waiting_since<W>(gate: &Gate<W>) -> Option<Instant> {
        gate.waiting_since()
    }

    /// Decides on a request as [`Gate::enter`] does. A request that is queued leaves its data with
    /// its ticket.
    ///
    /// # Errors
    ///
    /// As [`Gate::enter`].
    #[inline]
    pub fn enter<W>(
        gate: &mut Gate<W>,
        request: &Request,
        now: Option<Instant>,
        joining: &mut Joining<W>,
    ) -> Result<Answer, InvalidArgument> {
        gate.enter_with::<true>(request, now, joining)
    }

    /// Decides as [`enter`] does, on a request that does not fetch: in fewer steps.
    ///
    /// # Errors
    ///
    /// As [`Gate::enter`].
    #[inline]
    pub fn enter_without_fetching<W>(
        gate: &mut Gate<W>,
        request: &Request,
        now: Option<Instant>,
        joining: &mut Joining<W>,
    ) -> Result<Answer, InvalidArgument> {
        gate.enter_with::<false>(request, now, joining)
    }

    /// Redeems a granted ticket as [`Gate::collect`] does. Another ticket stays as it is.
    #[must_use = "a grant that is forgotten keeps its units"]
    #[inline]
    pub fn collect_granted<W>(gate: &mut Gate<W>, ticket: &Ticket) -> Option<Grant> {
        gate.collect_granted(ticket)
    }

    /// Ends an operation and advances, as [`Gate::release`] and [`Gate::advance`] do, in one step.
    ///
    /// # Errors
    ///
    /// Without `now`, returns the grant if the time is [needed](Gate::needs_now). Nothing has
    /// changed then.
    #[inline]
    pub fn finish<W>(gate: &mut Gate<W>, grant: Grant, now: Option<Instant>) -> Result<(), Grant> {
        gate.finish(grant, now)
    }

    /// Withdraws a ticket that waits behind another as [`Gate::cancel`] does, if nothing else
    /// follows from that: no event, no admission and no other word. Returns the parked waker.
    ///
    /// # Errors
    ///
    /// Returns any other ticket, and nothing has changed.
    #[inline]
    pub fn cancel_behind<W>(gate: &mut Gate<W>, ticket: Ticket) -> Result<Option<W>, Ticket> {
        gate.cancel_behind(ticket)
    }

    /// Returns the rejection that a ticket would be [collected](Gate::collect) as, if it was
    /// rejected.
    #[must_use]
    pub fn rejection<W>(gate: &Gate<W>, ticket: &Ticket) -> Option<Rejection> {
        gate.rejection(ticket)
    }

    /// Returns the instant that the gate was given last.
    #[must_use]
    pub fn mark<W>(gate: &Gate<W>) -> Instant {
        gate.mark()
    }

    /// Takes all wakers at once, in the order of [`Gate::poll_wake`], so that no other caller of an
    /// input gets any of them.
    pub fn take_wakes<W>(gate: &mut Gate<W>) -> Wakes<W> {
        gate.take_wakes()
    }

    /// Returns all counters, without the number of a [`snapshot`](Gate::snapshot): slots that were
    /// split or merged are not [completed](crate::Calls::complete).
    #[must_use]
    pub fn totals<W>(gate: &Gate<W>) -> Totals {
        gate.totals()
    }

    /// Returns the [number](crate::Event::number) of the event that was recorded last; zero before
    /// the first.
    #[must_use]
    pub fn events_recorded<W>(gate: &Gate<W>) -> u64 {
        gate.events_recorded()
    }
}
