//! What happens to a bulkhead of a fleet in this process, and its counters.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::{Occupancy, Reason};

/// A transition in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// The bulkhead's name, without its namespace.
    pub label: Arc<str>,
    /// What happened.
    pub kind: EventKind,
}

/// What happened. Where a local bulkhead has the same event, the word is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    /// A call got its permit.
    Admitted {
        /// How long it waited.
        waited: Duration,
    },
    /// A call was rejected.
    Rejected {
        /// Why.
        reason: Reason,
        /// How long it waited.
        waited: Duration,
    },
    /// A call that waited was dropped.
    Cancelled,
    /// A permit was given back.
    Released,
    /// A permit is no longer valid, though it was not given back.
    Lost,
    /// The store is in reach, and the bulkhead is open.
    Connected,
    /// The store is out of reach.
    Disconnected,
    /// The limit of the fleet is another.
    Resized {
        /// The new limit, in units.
        limit: u64,
    },
}

impl EventKind {
    /// Returns the name in snake case, for machines. It never changes.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admitted { .. } => "admitted",
            Self::Rejected { .. } => "rejected",
            Self::Cancelled => "cancelled",
            Self::Released => "released",
            Self::Lost => "lost",
            Self::Connected => "connected",
            Self::Disconnected => "disconnected",
            Self::Resized { .. } => "resized",
        }
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Counters of this process since the bulkhead was built. Each counts calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Totals {
    /// Admitted.
    pub admitted: u64,
    /// Rejected as saturated.
    pub saturated: u64,
    /// Rejected as expired.
    pub expired: u64,
    /// Rejected because the bulkhead was closed.
    pub closed: u64,
    /// Rejected because the store was out of reach.
    pub unavailable: u64,
    /// Rejected because the store had lost data.
    pub recovering: u64,
    /// Rejected because the processes disagree.
    pub conflict: u64,
    /// Dropped while they waited.
    pub cancelled: u64,
    /// Permits that were given back.
    pub released: u64,
    /// Permits that became invalid before they were given back.
    pub lost: u64,
}

impl Totals {
    /// Returns the number of rejected calls, without those with an invalid cost.
    #[must_use]
    pub fn rejected(&self) -> u64 {
        self.saturated + self.expired + self.closed + self.unavailable + self.recovering + self.conflict
    }

    pub(crate) fn count(&mut self, kind: EventKind) {
        let counter = match kind {
            EventKind::Admitted { .. } => &mut self.admitted,
            EventKind::Cancelled => &mut self.cancelled,
            EventKind::Released => &mut self.released,
            EventKind::Lost => &mut self.lost,
            EventKind::Rejected { reason, .. } => match reason {
                Reason::Saturated => &mut self.saturated,
                Reason::Expired => &mut self.expired,
                Reason::Closed => &mut self.closed,
                Reason::Unavailable => &mut self.unavailable,
                Reason::Recovering => &mut self.recovering,
                Reason::Conflict => &mut self.conflict,
                Reason::InvalidCost => return,
            },
            EventKind::Connected | EventKind::Disconnected | EventKind::Resized { .. } => return,
        };
        *counter += 1;
    }
}

/// What this process knows of a bulkhead, without asking the store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LocalStatus {
    /// The bulkhead's name, without its namespace.
    pub label: Arc<str>,
    /// Whether the store is in reach, and the bulkhead is open there.
    pub is_connected: bool,
    /// The permits of this process that the store counts, without those that are kept for later
    /// calls.
    pub held: usize,
    /// The calls of this process that ask the store, or wait there.
    pub waiting: usize,
    /// The calls of this process that wait to ask the store.
    pub waiting_locally: usize,
    /// The fleet's units and waiters, as the store last told this process.
    pub occupancy: Occupancy,
    /// The number of living processes, as the store last told. Zero if it never did.
    pub processes: u64,
    /// The counters of this process.
    pub totals: Totals,
}
