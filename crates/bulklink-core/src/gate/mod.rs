//! The gate: its state, its answers, and the small steps that its inputs share.

mod advance;
mod control;
#[cfg(feature = "restriction")]
mod controlled;
#[cfg(not(feature = "restriction"))]
#[path = "uncontrolled.rs"]
mod controlled;
mod enter;
mod leave;
#[cfg(feature = "restriction")]
mod lent;
mod output;
mod parts;
mod publish;
mod restrict;

use core::num::NonZeroU32;
use core::time::Duration;

pub use control::{ResizeError, Resized, Watch};
#[cfg(feature = "restriction")]
pub use controlled::Load;
pub use restrict::Restriction;

use crate::busy::Busy;
use crate::event::EventLog;
use crate::fifo::Fifo;
use crate::fork::Fork;
use crate::histogram::Tally;
use crate::limits::Checked;
use crate::queue::Queue;
use crate::totals::Counted;
use crate::word::{COMPLETE, byte_of};
use crate::{Event, EventFilter, EventKind, Grant, Instant, InvalidArgument, Limits, Occupancy, Rejection, Ticket};

/// The admission state machine.
///
/// `W` notifies a waiter that its ticket is settled: a waker in an async front, a thread
/// handle, a number in a test. The gate only stores it and hands it out.
///
/// The [crate's front page](crate#the-contract) has the contract: which calls follow each other, in
/// which order.
///
/// # Panics
///
/// Tickets, grants and watches are valid only for the gate that issued them. Passing one to another
/// gate is a programming error: that gate's account is wrong from then on, or it panics. Nothing
/// else panics.
#[derive(Debug)]
pub struct Gate<W> {
    instance: u64,
    snapshots: u64,
    in_flight: u32,
    capacity: u32,
    in_use: u32,
    waiting_room: u32,
    /// The capacity that admission sees: the least of the capacity and the restriction; zero while
    /// the gate is paused.
    admissible: u32,
    controlled: controlled::Kept<W>,
    paused: bool,
    /// The most units that requests may wait for; [`UNBOUNDED`](crate::limits::UNBOUNDED) for any
    /// number.
    waiting_room_units: u32,
    wait_limit: Option<Duration>,
    measures_waits: bool,
    closed: bool,
    /// As [`rejecting_flag`](Gate::rejecting_flag) returns it, in a byte; kept, because every input
    /// publishes a word.
    rejecting: u8,
    /// The events that are recorded.
    observed: EventFilter,
    queue: Queue<W>,
    /// The instant that the gate was given last.
    mark: Instant,
    totals: Counted,
    peaks: Peaks,
    /// The waits that ended in admission.
    waits: Tally,
    wakes: Fifo<W>,
    events: EventLog,
}

#[derive(Clone, Copy, Debug, Default)]
struct Peaks {
    in_flight: u32,
    in_use: u32,
    waiting: u32,
    waiting_units: u64,
    wait_nanos: u64,
}

/// The gate's answer to a request, or about a ticket.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a grant or a ticket that is forgotten keeps its units or its place"]
pub enum Answer {
    /// Admitted. [`release`](Gate::release) the grant when the operation ends.
    Granted(Grant),
    /// In the queue. Leave a [waker](Gate::waker_mut) with the ticket, and
    /// [`collect`](Gate::collect) the ticket when that is woken.
    Queued(Ticket),
    /// Rejected, immediately or while waiting.
    Rejected(Rejection),
    /// The answer depends on the time, which was not given. The request has had no effect. Only
    /// [`enter`](Gate::enter) without the time returns it.
    NeedsNow,
}

impl<W: Clone> Fork for Gate<W> {
    #[cfg_attr(not(feature = "restriction"), expect(clippy::clone_on_copy, reason = "nothing is controlled"))]
    fn fork(&self) -> Self {
        Gate {
            controlled: self.controlled.clone(),
            queue: self.queue.clone(),
            waits: self.waits.clone(),
            wakes: self.wakes.clone(),
            events: self.events.clone(),
            ..*self
        }
    }
}

impl<W> Gate<W> {
    /// Creates an open, empty gate.
    ///
    /// # Errors
    ///
    /// If a limit is out of range; the error names it.
    pub fn new(limits: Limits) -> Result<Self, InvalidArgument> {
        Gate::with_instance(limits, 0)
    }

    /// Creates a gate as [`new`](Gate::new) does, with an identity for its snapshots.
    ///
    /// Snapshots with different identities cannot be compared, so those of different gates are
    /// never mixed up.
    ///
    /// # Errors
    ///
    /// If a limit is out of range; the error names it.
    pub fn with_instance(limits: Limits, instance: u64) -> Result<Self, InvalidArgument> {
        limits.check(0)?;
        let Checked { capacity, waiting_room, waiting_room_units, wait_limit } = limits.narrow();
        Ok(Gate {
            instance,
            snapshots: 0,
            capacity,
            admissible: capacity,
            controlled: None,
            paused: false,
            waiting_room,
            waiting_room_units,
            wait_limit,
            measures_waits: true,
            closed: false,
            rejecting: byte_of(COMPLETE),
            observed: EventFilter::NONE,
            in_flight: 0,
            in_use: 0,
            queue: Queue::new(waiting_room),
            mark: Instant::EPOCH,
            totals: Counted::default(),
            peaks: Peaks::default(),
            waits: Tally::new(),
            wakes: Fifo::new(),
            events: EventLog::new(),
        })
    }

    /// Sets whether waits are measured, as they are at first.
    ///
    /// If not, the time is needed only where a limit or a deadline depends on it, and a wait
    /// without either counts as zero nanoseconds long.
    pub fn measure_waits(&mut self, measured: bool) {
        self.measures_waits = measured;
    }

    /// Returns whether waits are [measured](Gate::measure_waits).
    #[must_use]
    pub fn measures_waits(&self) -> bool {
        self.measures_waits
    }

    /// Returns the free units; zero while paused, or after the capacity or the restriction was
    /// reduced below the units in use.
    #[inline]
    fn free_units(&self) -> u32 {
        self.admissible.saturating_sub(self.in_use)
    }

    /// Returns whether a request of this cost can be admitted, provided that none waits before it.
    #[inline]
    fn fits(&self, cost: u32) -> bool {
        cost <= self.free_units() || self.controlled.is_some() && self.fits_alone(cost)
    }

    /// Returns the occupancy at this moment.
    #[must_use]
    #[inline]
    pub fn occupancy(&self) -> Occupancy {
        Occupancy {
            in_flight: self.in_flight,
            // Not combined with `in_flight` to one load: after two separate stores, such a load
            // waits until both have completed.
            in_use: if cfg!(target_pointer_width = "64") { core::hint::black_box(self.in_use) } else { self.in_use },
            waiting: self.queue.len(),
            capacity: self.capacity,
            waiting_room: self.waiting_room,
        }
    }

    /// Records an event without figures of the queue, if it is observed.
    ///
    /// `units` is the cost of the request or operation, or for a resize the capacity before it.
    #[cfg_attr(target_pointer_width = "64", inline)]
    #[cfg_attr(not(target_pointer_width = "64"), inline(never))]
    fn note(&mut self, kind: EventKind, units: usize) {
        if self.observed.includes(kind, false) {
            self.record(kind, units, None);
        }
    }

    /// Records the end of a wait in the queue, if that is observed.
    #[cfg_attr(target_pointer_width = "64", inline)]
    #[cfg_attr(not(target_pointer_width = "64"), inline(never))]
    fn note_settled(&mut self, kind: EventKind, cost: NonZeroU32, waited_nanos: u64) {
        if self.observed.includes(kind, true) {
            self.record_settled(kind, cost, waited_nanos);
        }
    }

    // A wait costs more than a call, and its end is part of many inputs.
    #[cfg_attr(target_pointer_width = "64", cold, inline(never))]
    #[cfg_attr(not(target_pointer_width = "64"), inline)]
    fn record_settled(&mut self, kind: EventKind, cost: NonZeroU32, waited_nanos: u64) {
        self.record(kind, cost.get() as usize, Some(waited_nanos));
    }

    // One function where size counts. Elsewhere it is part of each input: so no register is saved.
    #[cfg_attr(target_pointer_width = "64", inline)]
    #[cfg_attr(not(target_pointer_width = "64"), cold, inline(never))]
    fn record(&mut self, kind: EventKind, units: usize, waited_nanos: Option<u64>) {
        if self.controlled.is_some() {
            return self.record_controlled(kind, units, waited_nanos);
        }
        self.push_event(kind, units, waited_nanos);
    }

    #[inline]
    fn push_event(&mut self, kind: EventKind, units: usize, waited_nanos: Option<u64>) {
        self.events.recorded += 1;
        let (number, is_closed, occupancy) = (self.events.recorded, self.closed, self.occupancy());
        self.events.pending.push(Event { number, kind, occupancy, is_closed, units, waited_nanos, admitted: 0 });
    }

    /// Queues the waker of a ticket that has been settled, if there is one, for
    /// [`poll_wake`](Gate::poll_wake).
    #[inline]
    fn wake(&mut self, waker: Option<W>) {
        if let Some(waker) = waker {
            self.wakes.push(waker);
        }
    }

    /// Takes the units for one operation and counts it as admitted.
    #[cfg_attr(target_pointer_width = "64", inline)]
    #[cfg_attr(not(target_pointer_width = "64"), inline(never))]
    fn take(&mut self, cost: u32) {
        self.in_flight += 1;
        self.in_use += cost;
        self.peaks.in_flight = self.peaks.in_flight.max(self.in_flight);
        self.peaks.in_use = self.peaks.in_use.max(self.in_use);
        self.totals.admitted = self.totals.admitted.wrapping_add(1);
        self.totals.admitted_units = self.totals.admitted_units.wrapping_add(cost.into());
    }

    /// Notes the units in use from `now` on.
    #[inline]
    pub(crate) fn note_use(&self, busy: &mut Busy, now: Instant) {
        busy.note(self.in_use, self.capacity, now);
    }

    /// Frees the units of one operation.
    #[inline]
    fn give_back(&mut self, cost: u32) {
        self.in_flight -= 1;
        self.in_use -= cost;
    }

    /// Wakes the watchers if the gate is closed and empty.
    #[cfg_attr(target_pointer_width = "64", inline)]
    #[cfg_attr(not(target_pointer_width = "64"), inline(never))]
    fn note_drained(&mut self) {
        if self.is_drained() {
            self.wake_watchers();
        }
    }

    #[cold]
    #[inline(never)]
    fn wake_watchers(&mut self) {
        self.note(EventKind::Drained, 0);
        while let Some(waker) = self.queue.end_watch() {
            self.wakes.push(waker);
        }
    }
}
