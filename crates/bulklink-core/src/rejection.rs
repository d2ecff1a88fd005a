//! The honest no: why, with which figures, after how long.

use core::fmt;
use core::time::Duration;

/// Why a request was turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// No room: nothing free, and no place in the waiting room or no wish to wait.
    Saturated,
    /// Its time ran out before a slot came.
    Expired,
    /// The gate is closed.
    Closed,
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
    /// Operations running.
    #[must_use]
    pub const fn in_flight(&self) -> usize {
        self.in_flight as usize
    }

    /// Units that the running operations use.
    #[must_use]
    pub const fn in_use(&self) -> usize {
        self.in_use as usize
    }

    /// Operations waiting.
    #[must_use]
    pub const fn waiting(&self) -> usize {
        self.waiting as usize
    }

    /// Units that may be in use at once.
    #[must_use]
    pub const fn capacity(&self) -> usize {
        self.capacity as usize
    }

    /// Operations that may wait at once.
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

/// What a request that was turned away is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    pub(crate) reason: Reason,
    pub(crate) occupancy: Occupancy,
    pub(crate) waited_nanos: u64,
    /// Has a meaning for the reason `Expired` only.
    pub(crate) limit_nanos: u64,
}

impl Rejection {
    /// Why.
    #[must_use]
    pub const fn reason(&self) -> Reason {
        self.reason
    }

    /// The gate's occupancy right after this rejection. In one after closing, an operation that a [`Word`](crate::Word) admitted
    /// and that is just being given back may have left already.
    #[must_use]
    pub const fn occupancy(&self) -> Occupancy {
        self.occupancy
    }

    /// How long the request had waited; zero if it never queued.
    #[must_use]
    pub const fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited_nanos)
    }

    /// How long it could have waited, where the reason is [`Expired`](Reason::Expired): the least of the gate's limit, its own
    /// and what its deadline left. Zero if that deadline was past when it came.
    #[must_use]
    pub fn limit(&self) -> Option<Duration> {
        (self.reason == Reason::Expired).then(|| Duration::from_nanos(self.limit_nanos))
    }
}
