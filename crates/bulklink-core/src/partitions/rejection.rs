//! Why a call got no partition.

use core::fmt;

use super::Partitions;

/// Why a call got no lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// There is no partition for it, as many are kept as may be, and none is idle.
    PartitionLimit,
    /// All of them are closed.
    Closed,
}

/// How many partitions there are at one moment, and how many use them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Occupancy {
    pub(super) partitions: u32,
    pub(super) active: u32,
    pub(super) max_partitions: u32,
    pub(super) leased: u64,
}

impl Occupancy {
    /// Partitions kept.
    #[must_use]
    pub const fn partitions(&self) -> usize {
        self.partitions as usize
    }

    /// Those of them that are leased.
    #[must_use]
    pub const fn active_partitions(&self) -> usize {
        self.active as usize
    }

    /// Leases: operations that wait or run, in all partitions.
    #[must_use]
    pub const fn leased_operations(&self) -> u64 {
        self.leased
    }

    /// Partitions that may be kept at once.
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

/// What a call is told that got no lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    reason: Reason,
    occupancy: Occupancy,
}

impl Rejection {
    /// Why.
    #[must_use]
    pub const fn reason(&self) -> Reason {
        self.reason
    }

    /// How many partitions there were when the call was rejected.
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

    /// Counts a rejection, when its call is told. Those for [`Reason::Closed`] have no counter.
    pub fn count(&mut self, rejection: &Rejection) {
        self.totals.limit_rejected += u64::from(rejection.reason == Reason::PartitionLimit);
    }
}
