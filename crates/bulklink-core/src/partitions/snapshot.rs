//! The state of the partitions at one moment, and the activity between two snapshots.

use super::{Limits, Partitions};
use crate::IntervalError;

/// A consistent picture of all partitions at one moment.
///
/// This holds at all times: active partitions ≤ partitions ≤ max partitions. Until the last
/// partitions are [taken at the end](Partitions::take_drained), which is not counted, created =
/// evicted + discarded + partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The identity given to the set; see [`Partitions::with_instance`].
    pub instance: u64,
    /// The number of the snapshot. It counts from 1, so a later snapshot has a larger number.
    pub number: u64,
    /// The limits.
    pub limits: Limits,
    /// Partitions kept.
    pub partitions: usize,
    /// Partitions that are leased.
    pub active_partitions: usize,
    /// Leases: operations that wait or run, in all partitions.
    pub leased_operations: u64,
    /// The largest number of partitions that were ever kept at the same time.
    pub peak_partitions: usize,
    /// The largest number of leases that ever existed at the same time.
    pub peak_leased_operations: u64,
    /// Whether the set is closed.
    pub is_closed: bool,
    /// All counters since the set was created.
    pub totals: Totals,
}

/// Counters since the set was created, or over an [`Interval`]. They wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Totals {
    /// Partitions created.
    pub created: u64,
    /// Idle partitions removed to make room for another, or in a cleanup.
    pub evicted: u64,
    /// Idle partitions removed one by one, by `discard`.
    pub discarded: u64,
    /// Calls rejected because there was no room for their partition, each counted when the
    /// rejection [is reported](Partitions::count).
    pub limit_rejected: u64,
    /// Calls rejected because the set was closed, each counted when the rejection is reported.
    pub closed_rejected: u64,
}

impl Totals {
    fn since(&self, earlier: &Totals) -> Totals {
        Totals {
            created: self.created.wrapping_sub(earlier.created),
            evicted: self.evicted.wrapping_sub(earlier.evicted),
            discarded: self.discarded.wrapping_sub(earlier.discarded),
            limit_rejected: self.limit_rejected.wrapping_sub(earlier.limit_rejected),
            closed_rejected: self.closed_rejected.wrapping_sub(earlier.closed_rejected),
        }
    }
}

impl Snapshot {
    /// Returns the number of partitions without a lease.
    #[must_use]
    pub const fn idle_partitions(&self) -> usize {
        self.partitions.saturating_sub(self.active_partitions)
    }

    /// Returns whether a call for a new partition would be rejected: `max_partitions` exist, and
    /// none of them is idle.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.active_partitions >= self.limits.max_partitions
    }

    /// Returns whether the set is closed and the last lease has ended.
    #[must_use]
    pub const fn is_drained(&self) -> bool {
        self.is_closed && self.leased_operations == 0
    }

    /// Returns the activity between `earlier` and this snapshot of the same partitions.
    ///
    /// # Errors
    ///
    /// If the two are of different sets, or in the wrong order.
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
    /// The counts of the interval.
    pub totals: Totals,
}

impl Interval {
    /// Returns whether anything was counted.
    #[must_use]
    pub fn has_activity(&self) -> bool {
        self.totals != Totals::default()
    }
}

impl<P> Partitions<P> {
    /// Returns all figures at this moment.
    ///
    /// It takes `&mut self` because each snapshot has the next number in the series.
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
