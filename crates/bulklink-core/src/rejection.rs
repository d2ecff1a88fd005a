//! Rejections: the reason, the occupancy and the time waited.

use core::fmt;
use core::time::Duration;

use crate::coarse::{Coarse, FRACTION, unpack};

/// Why a request was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// No room: nothing is free or the gate is paused, and the waiting room is full, in requests or
    /// in units, or the request may not wait.
    Saturated,
    /// The time ran out before a slot was free.
    Expired,
    /// The gate is closed.
    Closed,
    /// The request waited, and gave up its place to one of another line of the same
    /// [pool](crate::pool).
    Displaced,
    /// A slot was handed over to the request in the queue, and was
    /// [taken back](crate::Calls::collect_limit), because it was not collected in time.
    Uncollected,
}

/// The occupancy of a gate at one moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Occupancy {
    pub(crate) in_flight: u32,
    pub(crate) in_use: u32,
    pub(crate) waiting: u32,
    pub(crate) capacity: u32,
    pub(crate) waiting_room: u32,
}

impl Occupancy {
    /// Returns the number of running operations.
    #[must_use]
    pub const fn in_flight(&self) -> usize {
        self.in_flight as usize
    }

    /// Returns the number of units that the running operations use.
    #[must_use]
    pub const fn in_use(&self) -> usize {
        self.in_use as usize
    }

    /// Returns the number of waiting requests.
    #[must_use]
    pub const fn waiting(&self) -> usize {
        self.waiting as usize
    }

    /// Returns the number of units that may be in use at the same time.
    #[must_use]
    pub const fn capacity(&self) -> usize {
        self.capacity as usize
    }

    /// Returns the number of requests that may wait at the same time.
    #[must_use]
    pub const fn waiting_room(&self) -> usize {
        self.waiting_room as usize
    }
}

impl fmt::Debug for Occupancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Occupancy")
            .field("in_flight", &self.in_flight)
            .field("in_use", &self.in_use)
            .field("waiting", &self.waiting)
            .field("capacity", &self.capacity)
            .field("waiting_room", &self.waiting_room)
            .finish()
    }
}

/// The rejection of a request: the reason, the occupancy and the time waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    pub(crate) reason: Reason,
    pub(crate) occupancy: Occupancy,
    /// As in [`Request`](crate::Request).
    pub(crate) cost: u32,
    /// For the reason `Expired`, the limit on the wait. For `Closed` and `Displaced`, the wait. For
    /// `Uncollected`, how long the slot was not collected. For `Saturated`, the units that wait, in
    /// the upper half, and their bound, if the request was rejected because of it; else zero.
    pub(crate) exact: u64,
    /// For `Expired`, how much longer than its limit the request waited; for `Uncollected`, how
    /// long it waited. [Packed](pack), because a node of the queue has no more room.
    pub(crate) waited: u32,
    /// How long before the end of its call the wait ended, if a deadline ended it. The flag is set
    /// if the gate was paused.
    pub(crate) kept: Coarse,
}

impl Rejection {
    /// Makes the rejection of a request of one unit that has not waited.
    pub(crate) const fn new(reason: Reason, occupancy: Occupancy) -> Self {
        Rejection { reason, occupancy, cost: 1, exact: 0, waited: 0, kept: Coarse::NONE }
    }

    /// Returns the units that the request asked for, at most `u32::MAX`.
    #[must_use]
    pub const fn cost(&self) -> usize {
        self.cost as usize
    }

    /// Returns the reason.
    #[must_use]
    pub const fn reason(&self) -> Reason {
        self.reason
    }

    /// Returns the gate's occupancy right after this rejection.
    ///
    /// In a rejection after closing, an operation that a [`Word`](crate::plumbing::Word) admitted
    /// and that is being given back at that moment may already be missing.
    #[must_use]
    pub const fn occupancy(&self) -> Occupancy {
        self.occupancy
    }

    /// Returns whether the gate was paused at that moment.
    #[must_use]
    pub const fn is_paused(&self) -> bool {
        self.kept.is_flagged()
    }

    /// Returns how long the request waited; zero if it never joined the queue. What it waited
    /// beyond its limit is rounded down by less than one part in 60 million.
    #[must_use]
    pub const fn waited(&self) -> Duration {
        let exact = match self.reason {
            Reason::Expired | Reason::Closed | Reason::Displaced => self.exact,
            Reason::Saturated | Reason::Uncollected => 0,
        };
        Duration::from_nanos(exact.saturating_add(unpack(self.waited, FRACTION)))
    }

    /// Returns the units that wait and their bound, if the request was rejected because of it.
    #[expect(clippy::cast_possible_truncation, reason = "each is 32 bits of the 64")]
    fn units(&self) -> Option<(usize, usize)> {
        let is_set = self.reason == Reason::Saturated && self.exact != 0;
        is_set.then_some(((self.exact >> 32) as usize, self.exact as u32 as usize))
    }

    /// Returns the units that requests waited for, if the request was rejected because its own
    /// would have been more than the [bound](crate::Limits::waiting_room_units); at most
    /// `u32::MAX`.
    #[must_use]
    pub fn waiting_units(&self) -> Option<usize> {
        self.units().map(|(waiting, _)| waiting)
    }

    /// Returns the [bound](crate::Limits::waiting_room_units) on the units that requests wait for,
    /// if the request was rejected because of it.
    #[must_use]
    pub fn waiting_room_units(&self) -> Option<usize> {
        self.units().map(|(_, bound)| bound)
    }

    /// Returns how long the request could have waited, if the reason is
    /// [`Expired`](Reason::Expired).
    ///
    /// That is the least of the gate's limit, the request's own limit and the time left to its
    /// deadline, less the time [kept](Rejection::kept); zero if the deadline was already past on
    /// entry.
    #[must_use]
    pub fn limit(&self) -> Option<Duration> {
        (self.reason == Reason::Expired).then(|| Duration::from_nanos(self.exact))
    }

    /// Returns how long the request had its slot until that was taken back, if the reason is
    /// [`Uncollected`](Reason::Uncollected).
    #[must_use]
    pub fn uncollected(&self) -> Option<Duration> {
        (self.reason == Reason::Uncollected).then(|| Duration::from_nanos(self.exact))
    }

    /// Returns the time that was kept for the operation, if a request with a
    /// [deadline](crate::Request::deadline) expired in the queue: that long before its deadline,
    /// its wait was over. `None` if another limit ended the wait. It is rounded down by less than
    /// one part in 100,000.
    #[must_use]
    pub fn kept(&self) -> Option<Duration> {
        self.kept.nanos().map(Duration::from_nanos)
    }
    /// Returns whether the request's own deadline ended its wait: that was past when it came, or
    /// is that of the whole [call](crate::Request::deadline), and no other limit was earlier.
    #[must_use]
    pub fn is_by_deadline(&self) -> bool {
        self.kept.is_set()
    }
}
