//! The whole state of a gate, as figures that belong together.

use core::time::Duration;

use crate::{CapacityReport, Interval, IntervalError, Limits, Totals};

/// A consistent picture of a gate at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The identity that the gate was given; see [`Gate::with_instance`](crate::Gate::with_instance).
    pub instance: u64,
    /// Counts the snapshots of this gate from 1: a later one has the larger number.
    pub number: u64,
    /// The limits in force.
    pub limits: Limits,
    /// Operations running, those included that were handed a slot and have not taken it yet.
    pub in_flight: usize,
    /// Units that those use.
    pub in_use: usize,
    /// Operations waiting.
    pub waiting: usize,
    /// Units that those will use.
    pub waiting_units: u64,
    /// The most operations that ever ran at once.
    pub peak_in_flight: usize,
    /// The most units that were ever in use at once.
    pub peak_in_use: usize,
    /// The most operations that ever waited at once.
    pub peak_waiting: usize,
    /// The most units that were ever waited for at once.
    pub peak_waiting_units: u64,
    /// [`longest_wait`](Snapshot::longest_wait) in nanoseconds.
    pub longest_wait_nanos: u64,
    /// Whether the gate is closed.
    pub is_closed: bool,
    /// Everything counted since the gate was made.
    pub totals: Totals,
}

impl Snapshot {
    /// The longest that any admitted waiter waited.
    #[must_use]
    pub const fn longest_wait(&self) -> Duration {
        Duration::from_nanos(self.longest_wait_nanos)
    }

    /// Units free: none while over capacity.
    #[must_use]
    pub const fn free(&self) -> usize {
        self.limits.capacity.saturating_sub(self.in_use)
    }

    /// Units in use beyond the capacity, after shrinking.
    #[must_use]
    pub const fn capacity_excess(&self) -> usize {
        self.in_use.saturating_sub(self.limits.capacity)
    }

    /// Whether more is in use than the capacity allows. Nobody is admitted until work has drained.
    #[must_use]
    pub const fn is_over_capacity(&self) -> bool {
        self.capacity_excess() > 0
    }

    /// Whether nothing is free. (A rejection of that name also needs a full waiting room, or no wish to wait.)
    #[must_use]
    pub const fn is_saturated(&self) -> bool {
        self.free() == 0
    }

    /// Whether the gate is closed and the last operation has ended.
    #[must_use]
    pub const fn is_drained(&self) -> bool {
        self.is_closed && self.in_flight == 0
    }

    /// Units in use per unit of capacity; above 1 after shrinking.
    #[must_use]
    pub fn utilization(&self) -> f64 {
        ratio(self.in_use, self.limits.capacity)
    }

    /// Operations waiting per place in the waiting room; 0 without a waiting room.
    #[must_use]
    pub fn queue_utilization(&self) -> f64 {
        ratio(self.waiting, self.limits.waiting_room)
    }

    /// What happened between `earlier` and this snapshot of the same gate.
    ///
    /// # Errors
    ///
    /// If the two are of different gates, the wrong way round, or of different waiting rooms.
    pub fn since(&self, earlier: &Snapshot) -> Result<Interval, IntervalError> {
        Interval::between(earlier, self)
    }

    /// What these figures say about capacity: what is full, what is configured oddly, and what has happened too often.
    ///
    /// ```
    /// use bulklink_core::{FindingCode, Gate, Limits, Severity};
    ///
    /// let mut gate: Gate<()> = Gate::new(Limits { capacity: 8, waiting_room: 50, wait_limit: None })?;
    /// let report = gate.snapshot().capacity_report();
    /// assert_eq!(report.severity(), Severity::Notice);
    /// assert_eq!(report.findings[0].code, FindingCode::UnboundedQueueWait);
    /// assert_eq!(report.to_string(), "notice: up to 50 may wait, for any length of time");
    /// # Ok::<(), bulklink_core::InvalidArgument>(())
    /// ```
    #[must_use]
    pub fn capacity_report(&self) -> CapacityReport {
        CapacityReport::of(self)
    }
}

/// Both fit 31 bits by [`Limits::MAX`], so the division is exact to the last place of an `f64`.
#[expect(clippy::cast_precision_loss)]
fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
