//! The state of a gate, as a consistent set of figures.

use core::time::Duration;

use crate::busy::Busy;
use crate::instant::nanos;
use crate::totals::Sum;
use crate::{CapacityReport, Instant, Interval, IntervalError, Limits, Restriction, Totals};

/// A consistent picture of a gate at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The identity given to the gate; see [`Gate::with_instance`](crate::Gate::with_instance).
    pub instance: u64,
    /// The number of the snapshot. It counts from 1 per gate, so a later snapshot has a larger
    /// number.
    pub number: u64,
    /// When the snapshot was taken, by the gate's clock.
    pub at: Instant,
    /// The limits in force.
    pub limits: Limits,
    /// Operations running, including those that were handed a slot and have not collected it yet.
    pub in_flight: usize,
    /// Units that the running operations use.
    pub in_use: usize,
    /// Those of the units in use that were [written off](crate::Calls::write_off): no operation
    /// holds them any more.
    pub written_off: usize,
    /// Requests waiting.
    pub waiting: usize,
    /// Units that the waiting requests ask for.
    pub waiting_units: u64,
    /// The largest number of operations that ever ran at the same time.
    pub peak_in_flight: usize,
    /// The largest number of units that were ever in use at the same time.
    pub peak_in_use: usize,
    /// The largest number of requests that ever waited at the same time.
    pub peak_waiting: usize,
    /// The largest number of units that were ever waited for at the same time.
    pub peak_waiting_units: u64,
    /// See [`longest_wait`](Snapshot::longest_wait).
    pub(crate) longest_wait_nanos: u64,
    /// Slots that were handed over to a request in the queue which has not collected them yet. They
    /// count as in flight.
    ///
    /// A few are usual under load. One that stays is of a caller that is stuck, or keeps a future
    /// without polling it.
    pub uncollected: usize,
    /// Units of the slots that are not collected yet.
    pub uncollected_units: usize,
    /// When the first of the slots that are not collected yet was handed over, of those whose wait
    /// was measured.
    pub uncollected_since: Option<Instant>,
    /// Slots that were [taken back](crate::Calls::collect_limit) because they were not collected
    /// in time. Their requests are among those [admitted](Totals::admitted) and
    /// [abandoned](Totals::abandoned).
    pub taken_back: u64,
    /// Operations that were [split](crate::Calls::split) off another: they were not admitted, and
    /// count as finished at their end.
    pub split: u64,
    /// Operations that were [merged](crate::Calls::merge) into another: they do not count as
    /// finished.
    pub merged: u64,
    /// Operations of calls with a [deadline](crate::Request::deadline) that ended at or after it.
    pub ended_late: u64,
    /// See [`reserve`](Snapshot::reserve).
    pub(crate) reserve_nanos: u64,
    /// Operations that ended with a hold that was [measured](crate::Calls::measure_holds).
    pub holds: u64,
    /// See [`cumulative_hold`](Snapshot::cumulative_hold).
    pub(crate) held: Sum,
    /// See [`busy`](Snapshot::busy).
    pub(crate) busy: Busy,
    /// Whether the gate is closed.
    pub is_closed: bool,
    /// Whether the gate is paused, and so admits no request. A closed gate is not.
    pub is_paused: bool,
    /// The [restriction](crate::Gate::restrict), if it is below the capacity.
    #[cfg(feature = "restriction")]
    pub restriction: Option<Restriction>,
    /// All counters since the gate was created.
    pub totals: Totals,
}

impl Snapshot {
    /// Returns the time that the wait of a call with a [deadline](crate::Request::deadline) leaves
    /// to the operation; zero before the first such call has ended, if it is learnt or was not set.
    #[must_use]
    pub const fn reserve(&self) -> Duration {
        Duration::from_nanos(self.reserve_nanos)
    }

    /// Returns the sum of the measured [holds](Snapshot::holds).
    #[must_use]
    pub fn cumulative_hold(&self) -> Duration {
        self.held.duration()
    }

    /// Returns the units in use, summed over time: three units in use for two seconds are six
    /// seconds. Zero if holds are not [measured](crate::Calls::measure_holds).
    ///
    /// It never decreases. Over an interval, divided by the [offered](Snapshot::offered) time, it
    /// is the [utilization](crate::Interval::utilization).
    #[cfg(feature = "histogram")]
    #[must_use]
    pub fn busy(&self) -> Duration {
        self.busy.in_use.duration()
    }

    /// Returns the capacity, summed over time from the first reading of the clock on, where holds
    /// are [measured](crate::Calls::measure_holds), also while paused. Zero elsewhere.
    #[cfg(feature = "histogram")]
    #[must_use]
    pub fn offered(&self) -> Duration {
        self.busy.offered.duration()
    }

    /// Returns the age of the slot that was handed over first of those that are not collected yet,
    /// and whose wait was measured.
    #[must_use]
    pub fn oldest_uncollected(&self) -> Option<Duration> {
        self.uncollected_since.map(|since| self.at.saturating_since(since))
    }

    /// Sets the sum of all waits and the longest one, for figures that are made by hand, as in a
    /// test.
    #[must_use]
    pub fn with_waits(mut self, cumulative: Duration, longest: Duration) -> Self {
        self.totals.waited = Sum::of(cumulative.as_nanos());
        self.longest_wait_nanos = nanos(longest);
        self
    }

    /// Returns the longest wait that ended in admission.
    #[must_use]
    pub const fn longest_wait(&self) -> Duration {
        Duration::from_nanos(self.longest_wait_nanos)
    }

    /// Returns the number of units that requests can get; zero while paused, or while more is in
    /// use than the capacity or the restriction allows.
    #[must_use]
    pub const fn free(&self) -> usize {
        if self.is_paused { 0 } else { self.effective_capacity().saturating_sub(self.in_use) }
    }

    /// Returns the capacity, or the [restriction](Restriction) below it. A pause does not
    /// change it.
    #[must_use]
    pub const fn effective_capacity(&self) -> usize {
        match self.binding() {
            Some(restriction) => restriction.units,
            None => self.limits.capacity,
        }
    }

    #[cfg(feature = "restriction")]
    pub(crate) const fn binding(&self) -> Option<Restriction> {
        self.restriction
    }

    #[cfg(not(feature = "restriction"))]
    #[expect(clippy::unused_self, reason = "with the feature it is used")]
    pub(crate) const fn binding(&self) -> Option<Restriction> {
        None
    }

    /// Returns the number of units in use beyond the capacity, after it was reduced.
    #[must_use]
    pub const fn capacity_excess(&self) -> usize {
        self.in_use.saturating_sub(self.limits.capacity)
    }

    /// Returns whether more is in use than the capacity allows. No request is admitted until enough
    /// operations have ended.
    #[must_use]
    pub const fn is_over_capacity(&self) -> bool {
        self.capacity_excess() > 0
    }

    /// Returns whether no unit is free, as while paused. (A rejection as
    /// [`Saturated`](crate::Reason::Saturated) also needs a full waiting room, or a request that
    /// may not wait.)
    #[must_use]
    pub const fn is_saturated(&self) -> bool {
        self.free() == 0
    }

    /// Returns whether the gate is closed and the last operation has ended.
    #[must_use]
    pub const fn is_drained(&self) -> bool {
        self.is_closed && self.in_flight == 0
    }

    /// Returns the units in use per unit of capacity; above 1 while over capacity. A pause does not
    /// change it.
    #[must_use]
    pub fn utilization(&self) -> f64 {
        ratio(self.in_use, self.limits.capacity)
    }

    /// Returns the requests waiting per place in the waiting room; 0 without a waiting room.
    #[must_use]
    pub fn queue_utilization(&self) -> f64 {
        ratio(self.waiting, self.limits.waiting_room)
    }

    /// Returns the activity between `earlier` and this snapshot of the same gate.
    ///
    /// # Errors
    ///
    /// If the two are of different gates, or in the wrong order.
    pub fn since(&self, earlier: &Snapshot) -> Result<Interval, IntervalError> {
        Interval::between(earlier, self)
    }

    /// Reports the findings of these figures about capacity: full limits, odd settings, and
    /// events that are too frequent.
    ///
    /// ```
    /// use bulklink_core::{FindingCode, Gate, Limits, Severity};
    ///
    /// let limits = Limits::new(8).with_waiting_room(50);
    /// let mut gate: Gate<()> = Gate::new(limits)?;
    /// let report = gate.snapshot(None).capacity_report();
    /// assert_eq!(report.severity(), Severity::Notice);
    /// assert_eq!(report.findings[0].code, FindingCode::UnboundedQueueWait);
    /// assert_eq!(report.to_string(), "notice: up to 50 may wait, for any length of time");
    /// # Ok::<(), bulklink_core::InvalidArgument>(())
    /// ```
    #[must_use]
    pub fn capacity_report(&self) -> CapacityReport {
        CapacityReport::of(self)
    }

    /// Reports as [`capacity_report`](Snapshot::capacity_report) does, but counts rates and waits
    /// from `earlier` on, a snapshot of the same gate: nothing that was over by then is reported.
    /// With this snapshot itself, only the present is.
    ///
    /// The longest wait is known only if none before `earlier` was as long, and zero otherwise. The
    /// report has the totals of the [interval](Snapshot::since).
    ///
    /// # Errors
    ///
    /// If the two are of different gates, or in the wrong order.
    pub fn capacity_report_since(&self, earlier: &Snapshot) -> Result<CapacityReport, IntervalError> {
        let totals = self.since(earlier)?.totals;
        let is_longest = self.longest_wait_nanos > earlier.longest_wait_nanos;
        let longest_wait_nanos = if is_longest { self.longest_wait_nanos } else { 0 };
        Ok(CapacityReport::of(&Snapshot { longest_wait_nanos, totals, ..*self }))
    }
}

/// Divides two figures. Both fit 31 bits by [`Limits::MAX`], so the result is exact to the last
/// place of an `f64`.
#[expect(clippy::cast_precision_loss)]
fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
