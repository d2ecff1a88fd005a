//! Rejections of calls that get no lease.

use core::fmt;

use super::Partitions;

/// Why a call got no lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The key has no partition, `max_partitions` exist already, and none of them is idle.
    PartitionLimit,
    /// The set of partitions is closed.
    Closed,
}

/// The number of partitions and of their leases at one moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Occupancy {
    pub(super) partitions: u32,
    pub(super) active: u32,
    pub(super) max_partitions: u32,
    pub(super) leased: u64,
}

impl Occupancy {
    /// Returns the number of partitions kept.
    #[must_use]
    pub const fn partitions(&self) -> usize {
        self.partitions as usize
    }

    /// Returns the number of partitions that are leased.
    #[must_use]
    pub const fn active_partitions(&self) -> usize {
        self.active as usize
    }

    /// Returns the number of leases: operations that wait or run, in all partitions.
    #[must_use]
    pub const fn leased_operations(&self) -> u64 {
        self.leased
    }

    /// Returns the number of partitions that may be kept at the same time.
    #[must_use]
    pub const fn max_partitions(&self) -> usize {
        self.max_partitions as usize
    }
}

impl fmt::Debug for Occupancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Occupancy")
            .field("partitions", &self.partitions)
            .field("active_partitions", &self.active)
            .field("leased_operations", &self.leased)
            .field("max_partitions", &self.max_partitions)
            .finish()
    }
}

impl fmt::Display for Occupancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Occupancy { partitions, active, max_partitions, leased } = self;
        write!(f, "{partitions} of {max_partitions} partitions, {active} active, {leased} operations")
    }
}

/// The rejection of a call that got no lease: the reason and the occupancy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    reason: Reason,
    occupancy: Occupancy,
}

impl Rejection {
    /// Returns the reason.
    #[must_use]
    pub const fn reason(&self) -> Reason {
        self.reason
    }

    /// Returns the occupancy at the time of the rejection.
    #[must_use]
    pub const fn occupancy(&self) -> Occupancy {
        self.occupancy
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.reason {
            Reason::PartitionLimit => "partition limit",
            Reason::Closed => "closed",
        })?;
        write!(f, " ({})", self.occupancy)
    }
}

impl core::error::Error for Rejection {}

impl<P> Partitions<P> {
    pub(super) fn reject(&self, reason: Reason) -> Rejection {
        Rejection { reason, occupancy: self.occupancy }
    }

    /// Counts a rejection, when it is reported to its call.
    pub fn count(&mut self, rejection: &Rejection) {
        let counter = match rejection.reason {
            Reason::PartitionLimit => &mut self.totals.limit_rejected,
            Reason::Closed => &mut self.totals.closed_rejected,
        };
        *counter = counter.wrapping_add(1);
    }
}
