//! All figures at one moment, and what happened between two of them.

use super::{Limits, Partitions};
use crate::IntervalError;

/// A consistent picture of all partitions at one moment.
///
/// Always true: active partitions ≤ partitions ≤ max partitions. Until the last partitions are
/// [taken at the end](Partitions::take_drained), which is not counted, created = evicted +
/// discarded + partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The identity that was given; see [`Partitions::with_instance`].
    pub instance: u64,
    /// Counts the snapshots from 1: a later one has the larger number.
    pub number: u64,
    /// The limits.
    pub limits: Limits,
    /// Partitions kept.
    pub partitions: usize,
    /// Those of them that are leased.
    pub active_partitions: usize,
    /// Leases: operations that wait or run, in all partitions.
    pub leased_operations: u64,
    /// The most partitions that were ever kept at once.
    pub peak_partitions: usize,
    /// The most leases that there ever were at once.
    pub peak_leased_operations: u64,
    /// Whether all is closed.
    pub is_closed: bool,
    /// Everything counted since the beginning.
    pub totals: Totals,
}

/// Counters since the beginning, or over an [`Interval`]. They wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Totals {
    /// Partitions made.
    pub created: u64,
    /// Partitions that went because they were idle: for a newcomer, or in a cleanup.
    pub evicted: u64,
    /// Partitions that were discarded by name.
    pub discarded: u64,
    /// Calls rejected because there was no room for their partition, each counted when it
    /// [is told](Partitions::count).
    pub limit_rejected: u64,
}

impl Totals {
    fn since(&self, earlier: &Totals) -> Totals {
        Totals {
            created: self.created.wrapping_sub(earlier.created),
            evicted: self.evicted.wrapping_sub(earlier.evicted),
            discarded: self.discarded.wrapping_sub(earlier.discarded),
            limit_rejected: self.limit_rejected.wrapping_sub(earlier.limit_rejected),
        }
    }
}

impl Snapshot {
    /// Partitions that nobody uses.
    #[must_use]
    pub const fn idle_partitions(&self) -> usize {
        self.partitions.saturating_sub(self.active_partitions)
    }

    /// Whether a call for a new partition would be rejected: as many as may be are kept, and none is idle.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.active_partitions >= self.limits.max_partitions
    }

    /// Whether all is closed and the last lease has ended.
    #[must_use]
    pub const fn is_drained(&self) -> bool {
        self.is_closed && self.leased_operations == 0
    }

    /// What happened between `earlier` and this snapshot of the same partitions.
    ///
    /// # Errors
    ///
    /// If the two are of different instances, or the wrong way round.
    pub fn since(&self, earlier: &Snapshot) -> Result<Interval, IntervalError> {
        IntervalError::check_instances(earlier.instance, self.instance)?;
        IntervalError::check_order(earlier.number, self.number)?;
        Ok(Interval { totals: self.totals.since(&earlier.totals) })
    }
}

/// The activity between two snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interval {
    /// What was counted in between.
    pub totals: Totals,
}

impl Interval {
    /// Whether anything was counted.
    #[must_use]
    pub fn has_activity(&self) -> bool {
        self.totals != Totals::default()
    }
}

impl<P> Partitions<P> {
    /// All figures at this moment. It is the next in a series of snapshots, hence `&mut`.
    pub fn snapshot(&mut self) -> Snapshot {
        self.snapshots += 1;
        Snapshot {
            instance: self.instance,
            number: self.snapshots,
            limits: self.limits(),
            partitions: self.occupancy.partitions(),
            active_partitions: self.occupancy.active_partitions(),
            leased_operations: self.occupancy.leased_operations(),
            peak_partitions: self.peaks.partitions as usize,
            peak_leased_operations: self.peaks.leased,
            is_closed: self.closed,
            totals: self.totals,
        }
    }
}
