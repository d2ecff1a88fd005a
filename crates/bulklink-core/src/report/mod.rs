//! The report that a snapshot makes about capacity.

mod finding;
mod rules;
mod share;
mod shares;
mod thresholds;

use alloc::vec::Vec;
use core::fmt;

pub use self::finding::{Finding, FindingCode, Severity};

use self::share::Share;
use crate::{Restriction, Snapshot};

/// The findings of a [`Snapshot`] about capacity, created by [`Snapshot::capacity_report`].
///
/// It is a pure function of that snapshot. Rates count from the creation of the gate: an old burst
/// weighs less with every request that follows. Those of
/// [`capacity_report_since`](Snapshot::capacity_report_since) count from an earlier snapshot. The
/// report changes nothing, and is silent about samples that are too small to be meaningful.
///
/// # Weights
///
/// Capacity and its use are counted in units. The waiting room and all rates are
/// counted in requests, as in the gate itself, because a rejected request has used no units. With
/// weights, the head of the queue can be too large for the free units. No other request is admitted
/// then, so that counts as full.
///
/// Its text is a summary in one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CapacityReport {
    /// The snapshot that the report was created from, with the totals that it counts.
    pub snapshot: Snapshot,
    /// The findings, in the order of [`FindingCode`].
    pub findings: Vec<Finding>,
}

impl CapacityReport {
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        CapacityReport { snapshot: *snapshot, findings: rules::apply(snapshot) }
    }

    /// Adds a finding, at the place of its code.
    pub fn add(&mut self, finding: Finding) {
        let place = self.findings.partition_point(|one| one.code <= finding.code);
        self.findings.insert(place, finding);
    }

    /// Returns the severity of the worst finding, or [`Ok`](Severity::Ok) if there is none.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.worst().map_or(Severity::Ok, |finding| finding.severity)
    }

    /// Returns whether there is a warning, or worse.
    #[must_use]
    pub fn requires_attention(&self) -> bool {
        self.severity() >= Severity::Warning
    }

    /// Returns the finding with this code, if there is one.
    #[must_use]
    pub fn finding(&self, code: FindingCode) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.code == code)
    }

    /// Returns the first among the most severe findings.
    fn worst(&self) -> Option<&Finding> {
        // `max_by_key` returns the last of equal items, hence the reversal.
        self.findings.iter().rev().max_by_key(|finding| finding.severity)
    }

    /// Returns the units in use per unit of capacity; above 1 while over capacity. As all ratios
    /// here, it is `None` where it would be meaningless.
    #[must_use]
    pub fn utilization(&self) -> Option<f64> {
        shares::utilization(&self.snapshot).map(Share::ratio)
    }

    /// Returns the requests waiting per place in the waiting room, or `None` without a waiting
    /// room.
    #[must_use]
    pub fn queue_utilization(&self) -> Option<f64> {
        shares::queue_utilization(&self.snapshot).map(Share::ratio)
    }

    /// Returns the share of requests that queued, among all that were admitted immediately, queued,
    /// or found no room.
    ///
    /// It is `None` if they are fewer than [`MIN_ATTEMPTS`](CapacityReport::MIN_ATTEMPTS).
    #[must_use]
    #[doc(alias = "queue_entry_ratio")]
    pub fn queueing_rate(&self) -> Option<f64> {
        shares::queueing(&self.snapshot).map(Share::ratio)
    }

    /// Returns the share of requests that found no room or expired in the queue, among these and
    /// all that were admitted.
    ///
    /// It is `None` if they are fewer than [`MIN_DECISIONS`](CapacityReport::MIN_DECISIONS).
    /// Requests that came after closing, or past their own deadline, are left out: they mean
    /// nothing for capacity.
    #[must_use]
    #[doc(alias = "rejection_ratio")]
    pub fn rejection_rate(&self) -> Option<f64> {
        shares::rejection(&self.snapshot).map(Share::ratio)
    }

    /// Returns the share of requests that expired in the queue, among all that joined it.
    ///
    /// It is `None` if they are fewer than [`MIN_QUEUED`](CapacityReport::MIN_QUEUED).
    #[must_use]
    #[doc(alias = "expiration_ratio")]
    pub fn expiration_rate(&self) -> Option<f64> {
        shares::expiration(&self.snapshot).map(Share::ratio)
    }

    /// Returns the mean wait of requests admitted from the queue, as a fraction of the wait limit.
    ///
    /// It is `None` without a limit, or if these requests are fewer than
    /// [`MIN_WAITS`](CapacityReport::MIN_WAITS).
    #[must_use]
    #[doc(alias = "average_wait_limit_ratio")]
    pub fn average_wait_ratio(&self) -> Option<f64> {
        shares::average_wait(&self.snapshot).map(Share::ratio)
    }

    /// Returns the longest wait of requests admitted from the queue, as a fraction of the wait
    /// limit.
    ///
    /// It is `None` in the same cases as
    /// [`average_wait_ratio`](CapacityReport::average_wait_ratio).
    #[must_use]
    #[doc(alias = "longest_wait_limit_ratio")]
    pub fn longest_wait_ratio(&self) -> Option<f64> {
        shares::longest_wait(&self.snapshot).map(Share::ratio)
    }
}

/// Writes a summary in one sentence: the severity, and the worst finding with the number of others,
/// or the state if there is none.
impl fmt::Display for CapacityReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.severity())?;
        match self.worst() {
            Some(worst) => self.write_worst(worst, f),
            None => write_state(&self.snapshot, f),
        }
    }
}

impl CapacityReport {
    fn write_worst(&self, worst: &Finding, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.snapshot.is_closed && worst.code != FindingCode::ClosedWithActiveWork {
            f.write_str("closed; ")?;
        }
        f.write_str(&worst.message)?;
        match self.findings.len() {
            1 => Ok(()),
            2 => f.write_str("; 1 more finding"),
            findings => write!(f, "; {} more findings", findings - 1),
        }
    }
}

fn write_state(snapshot: &Snapshot, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if snapshot.is_drained() {
        return f.write_str("closed and drained");
    }
    let Snapshot { limits, in_use, waiting, .. } = snapshot;
    write!(f, "{in_use} of {} in use, {waiting} of {} waiting", limits.capacity, limits.waiting_room)?;
    match snapshot.binding() {
        Some(Restriction { by, units, .. }) => write!(f, ", {units} allowed by {by}"),
        None => Ok(()),
    }
}
