//! The activity between two snapshots.

use core::fmt;
use core::time::Duration;

use crate::busy::Busy;
use crate::totals::Sum;
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
    /// Slots that were [taken back](Snapshot::taken_back).
    pub taken_back: u64,
    /// Operations that were [split](Snapshot::split) off another.
    pub split: u64,
    /// Operations that were [merged](Snapshot::merged) into another.
    pub merged: u64,
    /// Operations of calls with a [deadline](crate::Request::deadline) that ended at or after it.
    pub ended_late: u64,
    /// Operations that ended and whose hold was [measured](crate::Calls::measure_holds).
    pub holds: u64,
    held: Sum,
    busy: Busy,
    elapsed_nanos: u64,
    /// Operations running at the earlier snapshot.
    pub in_flight_before: usize,
    /// Operations running at the later snapshot.
    pub in_flight_after: usize,
    /// Slots [not collected](Snapshot::uncollected) at the earlier snapshot, which count as
    /// running.
    pub uncollected_before: usize,
    /// Slots not collected at the later snapshot.
    pub uncollected_after: usize,
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
            taken_back: later.taken_back.wrapping_sub(earlier.taken_back),
            split: later.split.wrapping_sub(earlier.split),
            merged: later.merged.wrapping_sub(earlier.merged),
            ended_late: later.ended_late.wrapping_sub(earlier.ended_late),
            holds: later.holds.wrapping_sub(earlier.holds),
            held: later.held.since(earlier.held),
            busy: later.busy.since(earlier.busy),
            elapsed_nanos: later.at.nanos_since(earlier.at),
            in_flight_before: earlier.in_flight,
            in_flight_after: later.in_flight,
            uncollected_before: earlier.uncollected,
            uncollected_after: later.uncollected,
            limits_before: earlier.limits,
            limits_after: later.limits,
        })
    }

    /// Returns the time between the two snapshots.
    #[must_use]
    pub const fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.elapsed_nanos)
    }

    /// Returns the sum of the measured [holds](Interval::holds).
    #[must_use]
    pub fn cumulative_hold(&self) -> Duration {
        self.held.duration()
    }

    /// Returns the mean time for which the operations that ended held their slots, where that is
    /// [measured](crate::Calls::measure_holds). `None` if it is not, or if none ended.
    #[must_use]
    pub fn mean_hold(&self) -> Option<Duration> {
        self.held.nanos().checked_div(self.holds.into()).map(saturating)
    }

    /// Estimates the mean time for which operations held their slots, without measuring it: by
    /// Little's law, the mean number in flight times the [time](Interval::elapsed), divided by the
    /// number of operations that ended.
    ///
    /// Only the numbers in flight at both ends are known, of which slots that are not collected are
    /// subtracted. So the snapshots must be close enough for these to give their mean: `None` if
    /// they differ by more than a quarter of it, if either is zero, or if no operation ended or no
    /// time passed. What happens in between goes unseen. The estimate is good where the load is
    /// steady or all slots are in use, and where the time is at least a few holds: with n
    /// operations that ended, it varies by about 1/√n.
    ///
    /// ```
    /// use bulklink_core::{Gate, Instant, Limits, Request, Answer};
    /// use core::time::Duration;
    ///
    /// let mut gate: Gate<()> = Gate::new(Limits::new(2))?;
    /// let mut now = Instant::EPOCH;
    /// let enter = |gate: &mut Gate<()>, now| match gate.enter(&Request::new(), Some(now)) {
    ///     Ok(Answer::Granted(grant)) => grant,
    ///     other => panic!("not granted: {other:?}"),
    /// };
    /// let mut running = [enter(&mut gate, now), enter(&mut gate, now)];
    /// let before = gate.snapshot(Some(now));
    /// for _ in 0..10 {
    ///     // Two operations of 20 ms each at a time: one ends every 10 ms.
    ///     now = now + Duration::from_millis(10);
    ///     let [grant, other] = running;
    ///     gate.release(grant);
    ///     running = [other, enter(&mut gate, now)];
    /// }
    /// let interval = gate.snapshot(Some(now)).since(&before).expect("of one gate, in order");
    /// assert_eq!(interval.estimated_hold(), Some(Duration::from_millis(20)));
    /// # Ok::<(), bulklink_core::InvalidArgument>(())
    /// ```
    #[must_use]
    pub fn estimated_hold(&self) -> Option<Duration> {
        // Slots that are not collected are not used: one that stays so would count for all its age.
        let before = self.in_flight_before.saturating_sub(self.uncollected_before) as u128;
        let after = self.in_flight_after.saturating_sub(self.uncollected_after) as u128;
        let twice_the_mean = before + after;
        // Never if only one of them is zero.
        let is_steady = before.abs_diff(after) * 8 <= twice_the_mean;
        let held = twice_the_mean * u128::from(self.elapsed_nanos) / 2;
        let mean = held.checked_div(self.totals.finished.into()).filter(|&mean| is_steady && mean > 0);
        mean.map(saturating)
    }

    /// Returns the mean number of units in use, where holds are
    /// [measured](crate::Calls::measure_holds): exactly, whatever happened in between. `None` if
    /// they are not, or if no time passed.
    ///
    /// A clock that steps back counts as standing still until it is where it was.
    #[cfg(feature = "histogram")]
    #[must_use]
    pub fn mean_in_use(&self) -> Option<f64> {
        self.busy.mean_in_use()
    }

    /// Returns the part of the capacity that was in use, on the mean of the interval, where holds
    /// are [measured](crate::Calls::measure_holds). `None` if they are not, or if no time passed.
    ///
    /// It holds across changes of the capacity, each of which counts for its time. It is above 1
    /// while more is in use than a capacity that was reduced.
    #[cfg(feature = "histogram")]
    #[must_use]
    pub fn utilization(&self) -> Option<f64> {
        self.busy.utilization()
    }

    /// Returns whether anything was counted.
    #[must_use]
    pub fn has_activity(&self) -> bool {
        self.totals != Totals::default()
    }
}

fn saturating(nanos: u128) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
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
                write!(f, "the snapshots are not of the same bulkhead: instances {earlier} and {later}")
            }
            IntervalError::Reversed { earlier, later } => {
                write!(
                    f,
                    "the snapshots are in reverse order: number {earlier} is given as the earlier one, and {later} as the later"
                )
            }
        }
    }
}

impl core::error::Error for IntervalError {}
