//! The activity between two snapshots.

use core::fmt;

use crate::{Limits, Snapshot, Totals};

/// The activity of a gate between two of its snapshots.
///
/// The counts are exact, whatever limits were changed in between: each request was decided on by
/// those in force at its time. Where the limits at both ends differ, ratios to a limit have no
/// meaning for the whole interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interval {
    /// The counts of the interval. Their [`average_wait`](Totals::average_wait) is that of the
    /// interval.
    pub totals: Totals,
    /// Operations of calls with a [deadline](crate::Request::deadline) that ended at or after it.
    pub ended_late: u64,
    /// The limits in force at the earlier snapshot.
    pub limits_before: Limits,
    /// The limits in force at the later snapshot.
    pub limits_after: Limits,
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
}

impl Interval {
    pub(crate) fn between(earlier: &Snapshot, later: &Snapshot) -> Result<Self, IntervalError> {
        IntervalError::check_instances(earlier.instance, later.instance)?;
        IntervalError::check_order(earlier.number, later.number)?;
        Ok(Interval {
            totals: later.totals.since(&earlier.totals),
            ended_late: later.ended_late.wrapping_sub(earlier.ended_late),
            limits_before: earlier.limits,
            limits_after: later.limits,
        })
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
        }
    }
}

impl core::error::Error for IntervalError {}
