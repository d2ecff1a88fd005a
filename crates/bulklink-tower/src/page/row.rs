//! The figures of one bulkhead, or of partitions together.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

use bulklink::{Handle, Limits, Severity, Totals, partitions};

/// What the page shows of a bulkhead, or of partitions.
pub(super) struct Row {
    pub(super) label: Arc<str>,
    pub(super) severity: Severity,
    /// Of all calls that were decided, from 0 to 1.
    pub(super) rejected_share: f64,
    pub(super) utilization: f64,
    pub(super) is_closed: bool,
    pub(super) is_paused: bool,
    /// Of partitions: those of each.
    pub(super) limits: Limits,
    pub(super) in_flight: usize,
    pub(super) in_use: usize,
    pub(super) written_off: usize,
    pub(super) waiting: usize,
    pub(super) waiting_units: u64,
    pub(super) uncollected: usize,
    pub(super) rejected: u64,
    pub(super) taken_back: u64,
    pub(super) totals: Totals,
    pub(super) findings: Vec<Finding>,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    Bulkhead { oldest_wait: Option<Duration>, oldest_uncollected: Option<Duration>, longest_wait: Duration },
    Partitions { status: Box<partitions::Status> },
}

pub(super) struct Finding {
    pub(super) severity: Severity,
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl Row {
    pub(super) fn of_bulkhead(bulkhead: &Handle) -> Self {
        let status = bulkhead.status();
        let report = status.capacity_report();
        let severity = report.severity();
        let findings = report.value.findings.into_iter();
        let findings = findings.map(|found| {
            let (severity, code, message) = (found.severity, found.code.as_str(), found.message);
            Finding { severity, code, message }
        });
        let rejected = status.totals.rejected();
        Row {
            severity,
            rejected_share: share(rejected, &status.totals),
            utilization: status.utilization(),
            is_closed: status.is_closed,
            is_paused: status.is_paused,
            limits: status.limits,
            in_flight: status.in_flight,
            in_use: status.in_use,
            written_off: status.written_off,
            waiting: status.waiting,
            waiting_units: status.waiting_units,
            uncollected: status.uncollected,
            rejected,
            taken_back: status.taken_back,
            totals: status.totals,
            findings: findings.collect(),
            kind: Kind::Bulkhead {
                oldest_wait: if status.waiting > 0 { bulkhead.oldest_wait() } else { None },
                oldest_uncollected: status.oldest_uncollected(),
                longest_wait: status.longest_wait(),
            },
            label: status.label,
        }
    }

    pub(super) fn of_partitions(partitions: &partitions::Handle) -> Self {
        let report = partitions.capacity_report();
        let (severity, status, sums) = (report.severity(), report.status, partitions.sums());
        let findings = report.findings.into_iter().map(|found| {
            let (severity, code, message) = (found.severity, found.code.as_str(), found.message);
            Finding { severity, code, message }
        });
        let rejected = sums.rejected();
        Row {
            label: Arc::clone(&status.label),
            severity,
            rejected_share: share(rejected, &sums.totals),
            utilization: ratio(status.active_partitions as u64, status.snapshot.limits.max_partitions as u64),
            is_closed: status.is_closed,
            is_paused: status.is_paused,
            limits: status.each,
            in_flight: sums.in_flight,
            in_use: sums.in_use,
            written_off: sums.written_off,
            waiting: sums.waiting,
            waiting_units: sums.waiting_units,
            uncollected: sums.uncollected,
            rejected,
            taken_back: sums.taken_back,
            totals: sums.totals,
            findings: findings.collect(),
            kind: Kind::Partitions { status: Box::new(status) },
        }
    }

    /// Compares two rows by how bad they are. The worse one is less, and so comes first.
    pub(super) fn cmp_worst_first(&self, other: &Row) -> Ordering {
        let by_figures = other.severity.cmp(&self.severity);
        let by_figures = by_figures.then_with(|| other.rejected_share.total_cmp(&self.rejected_share));
        let by_figures = by_figures.then_with(|| other.utilization.total_cmp(&self.utilization));
        by_figures.then_with(|| self.label.cmp(&other.label))
    }

    /// Returns the label, and whether it was cut off.
    pub(super) fn short_label(&self) -> (&str, bool) {
        let most = super::LONGEST_LABEL;
        if self.label.len() <= most {
            return (&self.label, false);
        }
        let end = (0..=most).rev().find(|&end| self.label.is_char_boundary(end)).unwrap_or(0);
        (&self.label[..end], true)
    }
}

/// Returns the share of rejected calls among those that were admitted, rejected or cancelled.
fn share(rejected: u64, totals: &Totals) -> f64 {
    ratio(rejected, totals.admitted.saturating_add(rejected).saturating_add(totals.cancelled))
}

#[expect(clippy::cast_precision_loss, reason = "it is shown")]
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
