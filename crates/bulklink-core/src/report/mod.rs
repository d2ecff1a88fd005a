//! What the figures of a snapshot say about capacity.

mod finding;
mod rules;
mod share;
mod shares;
mod thresholds;

use alloc::vec::Vec;
use core::fmt;

pub use self::finding::{Finding, FindingCode, Severity};

use self::share::Share;
use crate::Snapshot;

/// What a [`Snapshot`] says about capacity; made by [`Snapshot::capacity_report`].
///
/// It is a pure function of that snapshot. What has happened counts from the beginning: an old burst weighs less with every request
/// that follows. It changes nothing, and says nothing of samples too small to mean something.
///
/// # Weights
///
/// Capacity, and what is in use of it, count in units, the waiting room and all rates in operations, as the gate itself does: one who is
/// turned away has used no units. With weights the head of the queue can be too large for what is free. Nobody else is admitted
/// then, so that counts as full.
///
/// Its text is a summary in one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CapacityReport {
    /// What it was made from.
    pub snapshot: Snapshot,
    /// What was found, in the order of [`FindingCode`].
    pub findings: Vec<Finding>,
}

impl CapacityReport {
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        CapacityReport { snapshot: *snapshot, findings: rules::apply(snapshot) }
    }

    /// The severity of the worst finding; [`Ok`](Severity::Ok) if there is none.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.worst().map_or(Severity::Ok, |finding| finding.severity)
    }

    /// Whether there is a warning, or worse.
    #[must_use]
    pub fn requires_attention(&self) -> bool {
        self.severity() >= Severity::Warning
    }

    /// The finding with this code, if it was found.
    #[must_use]
    pub fn finding(&self, code: FindingCode) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.code == code)
    }

    /// The first among the most severe.
    fn worst(&self) -> Option<&Finding> {
        self.findings.iter().rev().max_by_key(|finding| finding.severity)
    }

    /// Units in use per unit of capacity; above 1 after shrinking. As all ratios here, it is `None` where it would mean nothing.
    #[must_use]
    pub fn utilization(&self) -> Option<f64> {
        shares::utilization(&self.snapshot).map(Share::ratio)
    }

    /// Operations waiting per place in the waiting room; `None` without a waiting room.
    #[must_use]
    pub fn queue_utilization(&self) -> Option<f64> {
        shares::queue_utilization(&self.snapshot).map(Share::ratio)
    }

    /// Those who queued, among all who were admitted at once, queued, or found no room; `None` if they are fewer than
    /// [`MIN_ATTEMPTS`](CapacityReport::MIN_ATTEMPTS).
    #[must_use]
    #[doc(alias = "queue_entry_ratio")]
    pub fn queueing_rate(&self) -> Option<f64> {
        shares::queueing(&self.snapshot).map(Share::ratio)
    }

    /// Those who found no room or expired in the queue, among these and all who were admitted; `None` if they are fewer than
    /// [`MIN_DECISIONS`](CapacityReport::MIN_DECISIONS). Who came after closing, or past a deadline of its own, says nothing about
    /// capacity.
    #[must_use]
    #[doc(alias = "rejection_ratio")]
    pub fn rejection_rate(&self) -> Option<f64> {
        shares::rejection(&self.snapshot).map(Share::ratio)
    }

    /// Those who expired in the queue, among all who joined it; `None` if they are fewer than
    /// [`MIN_QUEUED`](CapacityReport::MIN_QUEUED).
    #[must_use]
    #[doc(alias = "expiration_ratio")]
    pub fn expiration_rate(&self) -> Option<f64> {
        shares::expiration(&self.snapshot).map(Share::ratio)
    }

    /// The mean wait of those admitted from the queue, per wait limit; `None` without a limit, or if they are fewer than
    /// [`MIN_WAITS`](CapacityReport::MIN_WAITS).
    #[must_use]
    #[doc(alias = "average_wait_limit_ratio")]
    pub fn average_wait_ratio(&self) -> Option<f64> {
        shares::average_wait(&self.snapshot).map(Share::ratio)
    }

    /// The longest wait of those admitted from the queue, per wait limit; `None` as for
    /// [`average_wait_ratio`](CapacityReport::average_wait_ratio).
    #[must_use]
    #[doc(alias = "longest_wait_limit_ratio")]
    pub fn longest_wait_ratio(&self) -> Option<f64> {
        shares::longest_wait(&self.snapshot).map(Share::ratio)
    }
}

/// A summary in one sentence: the severity, and the worst finding with the number of others; where there is none, the state.
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
    write!(f, "{in_use} of {} in use, {waiting} of {} waiting", limits.capacity, limits.waiting_room)
}
