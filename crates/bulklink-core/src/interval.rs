//! The activity between two snapshots.

use core::fmt;

use crate::{Snapshot, Totals};

/// The activity of a gate between two of its snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interval {
    /// The counts of the interval. Their [`average_wait`](Totals::average_wait) is that of the
    /// interval.
    pub totals: Totals,
    /// Operations of calls with a [deadline](crate::Request::deadline) that ended at or after it.
    pub ended_late: u64,
}

/// Why two snapshots do not make an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IntervalError {
    /// The snapshots are of different gates, or of different partitions.
    DifferentInstance {
        /// The identity in the earlier snapshot.
        earlier: u64,
        /// The identity in the later snapshot.
        later: u64,
    },
    /// The snapshot given as the earlier one is the later one.
    Reversed {
        /// The number of the snapshot given as earlier.
        earlier: u64,
        /// The number of the snapshot given as later.
        later: u64,
    },
    /// The snapshots are of different waiting rooms.
    DifferentWaitingRoom {
        /// The waiting room in the earlier snapshot.
        earlier: usize,
        /// The waiting room in the later snapshot.
        later: usize,
    },
}

impl Interval {
    pub(crate) fn between(earlier: &Snapshot, later: &Snapshot) -> Result<Self, IntervalError> {
        IntervalError::check_instances(earlier.instance, later.instance)?;
        if earlier.limits.waiting_room != later.limits.waiting_room {
            let (earlier, later) = (earlier.limits.waiting_room, later.limits.waiting_room);
            return Err(IntervalError::DifferentWaitingRoom { earlier, later });
        }
        IntervalError::check_order(earlier.number, later.number)?;
        let ended_late = later.ended_late.wrapping_sub(earlier.ended_late);
        Ok(Interval { totals: later.totals.since(&earlier.totals), ended_late })
    }

    /// Returns whether anything was counted.
    #[must_use]
    pub fn has_activity(&self) -> bool {
        self.totals != Totals::default()
    }
}

impl IntervalError {
    pub(crate) fn check_instances(earlier: u64, later: u64) -> Result<(), Self> {
        if earlier == later { Ok(()) } else { Err(IntervalError::DifferentInstance { earlier, later }) }
    }

    pub(crate) fn check_order(earlier: u64, later: u64) -> Result<(), Self> {
        if earlier <= later { Ok(()) } else { Err(IntervalError::Reversed { earlier, later }) }
    }
}

impl fmt::Display for IntervalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IntervalError::DifferentInstance { earlier, later } => {
                write!(f, "instance must be the same in both snapshots, got {earlier} and {later}")
            }
            IntervalError::Reversed { earlier, later } => {
                write!(f, "number of the later snapshot must be the larger one, got {later} after {earlier}")
            }
            IntervalError::DifferentWaitingRoom { earlier, later } => {
                write!(f, "waiting_room must be the same in both snapshots, got {earlier} and {later}")
            }
        }
    }
}

impl core::error::Error for IntervalError {}
