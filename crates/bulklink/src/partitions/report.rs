//! The capacity report of all partitions together.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use bulklink_core::{Gate, Severity};

use super::inner::Inner;
use super::{Handle, SharedStatus, Status, Sums};
use crate::Clock;
use crate::foreign::attempt;

/// The thresholds of rates are those of a bulkhead.
type OfOne = bulklink_core::CapacityReport;

/// The findings of the partitions about capacity; returned by [`Handle::capacity_report`].
///
/// Its text is a summary in one sentence. It shows no key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CapacityReport {
    /// The state of the partitions that the report was created from.
    pub status: Status,
    /// The findings, in the order of [`FindingCode`].
    pub findings: Vec<Finding>,
}

/// The subject of a [`Finding`]. A report has each code at most once, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FindingCode {
    /// As many partitions are in use as may be kept: a call for another key is rejected.
    PartitionLimitReached,
    /// A large share of calls was rejected because they got no partition.
    ElevatedLimitRejectionRate,
    /// All of the capacity that the partitions [share](super::Builder::shared_capacity) is in use,
    /// and calls wait for it.
    SharedCapacityFull,
    /// A finding of partitions, each for itself; or of all together, if it counts from an
    /// [earlier](Handle::capacity_report) time on.
    Each(bulklink_core::FindingCode),
}

/// One finding of a [`CapacityReport`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The subject.
    pub code: FindingCode,
    /// How much it matters; of partitions, in the worst of them.
    pub severity: Severity,
    /// How many of the partitions that are kept have it; `None` if it is about all together.
    pub partitions: Option<usize>,
    /// The finding in words, with the figures. For human readers; the wording may change.
    pub message: String,
}

impl Handle {
    /// Reports the findings of the kept partitions about capacity, each finding with the number
    /// of partitions that have it, and whether there are enough partitions.
    ///
    /// With [sums](Handle::sums) of an earlier time, it counts rates and waits from then on:
    /// nothing that was over by then is reported. These rates are of all partitions together, with
    /// the limits of [each](Status::each), because each for itself keeps nothing of earlier times.
    ///
    /// It shows no key. It reads the clock once, and takes time in proportion to the number of
    /// partitions that are kept; calls can enter and leave meanwhile.
    ///
    /// ```
    /// # use bulklink_tokio::{FindingCode, Partitions};
    /// # let builder = Partitions::builder("tenants").parallelism(1).max_partitions(10);
    /// # let tenants: Partitions<String> = builder.build()?;
    /// let _running = (tenants.key("ann").try_slot()?, tenants.key("bob").try_slot()?);
    /// drop(tenants.key("cid").try_slot()?);
    /// let report = tenants.handle().capacity_report(None);
    /// assert_eq!(report.findings[0].code, FindingCode::ExecutionFull.into());
    /// assert_eq!(report.findings[0].partitions, Some(2));
    /// assert_eq!(
    ///     report.to_string(),
    ///     "bulkhead tenants: warning: execution full in 2 of 3 partitions"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn capacity_report(&self, earlier: Option<&Sums>) -> CapacityReport {
        self.inner.capacity_report(earlier)
    }
}

impl CapacityReport {
    /// With earlier sums, counts from then on.
    pub(super) fn of<K, R, S>(inner: &Inner<K, R, S>, earlier: Option<&Sums>) -> Self
    where
        R: Clock + Clone + Send + Sync + 'static,
    {
        // A clock that panics must not hide the figures.
        let now = attempt(|| inner.each.runtime.now());
        let mut found: Vec<(bulklink_core::FindingCode, Severity, usize)> = Vec::new();
        let (status, sums) = inner.read(now, |snapshot, adaptive| {
            let mut report = snapshot.capacity_report();
            if let Some(adaptive) = adaptive {
                adaptive.add_findings(&mut report);
            }
            // Calls of keys that share a capacity wait for their turns while units of their own are
            // free.
            let waits_for_turn = inner.pool().is_some() && snapshot.in_use < snapshot.limits.capacity;
            report.findings.retain(|one| {
                let is_of_now = earlier.is_none() || !one.code.is_counted();
                is_of_now && !(waits_for_turn && one.code == bulklink_core::FindingCode::ExecutionFull)
            });
            for one in report.findings {
                match found.iter_mut().find(|(code, ..)| *code == one.code) {
                    Some((_, severity, partitions)) => {
                        *severity = one.severity.max(*severity);
                        *partitions += 1;
                    }
                    None => found.push((one.code, one.severity, 1)),
                }
            }
        });
        let each = found.into_iter().map(|(code, severity, partitions)| {
            let name = code.as_str().replace('_', " ");
            let message = format!("{name} in {partitions} of {} partitions", status.partitions);
            Finding { code: FindingCode::Each(code), severity, partitions: Some(partitions), message }
        });
        let sums = earlier.map_or_else(|| sums.clone(), |earlier| sums.since(earlier));
        let together = [limit_reached(&status), limit_rejection_rate(&sums), shared_full(&status)];
        let rates = earlier.map(|_| rates(&status, &sums)).into_iter().flatten();
        let mut findings: Vec<_> = together.into_iter().flatten().chain(rates).chain(each).collect();
        findings.sort_by_key(|finding| finding.code);
        CapacityReport { status, findings }
    }

    /// Returns the name of the partitions.
    #[must_use]
    pub fn label(&self) -> &Arc<str> {
        &self.status.label
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
    pub fn finding(&self, code: impl Into<FindingCode>) -> Option<&Finding> {
        let code = code.into();
        self.findings.iter().find(|finding| finding.code == code)
    }

    /// Returns the first among the most severe findings.
    fn worst(&self) -> Option<&Finding> {
        // `max_by_key` returns the last of equal items, hence the reversal.
        self.findings.iter().rev().max_by_key(|finding| finding.severity)
    }
}

fn limit_reached(status: &Status) -> Option<Finding> {
    if status.is_closed || !status.is_full() {
        return None;
    }
    let message = format!("all {} partitions in use", status.limits.max_partitions);
    let code = FindingCode::PartitionLimitReached;
    Some(Finding { code, severity: Severity::Warning, partitions: None, message })
}

/// One key may use the whole capacity, so no partition is full while calls wait for their turns.
fn shared_full(status: &Status) -> Option<Finding> {
    let SharedStatus { capacity, in_use, waiting, .. } = status.shared?;
    if status.is_closed || in_use < capacity || waiting == 0 {
        return None;
    }
    let message = format!("all {capacity} units that the keys share in use, {waiting} waiting");
    Some(Finding { code: FindingCode::SharedCapacityFull, severity: Severity::Warning, partitions: None, message })
}

/// Counts as a single bulkhead does: calls for which capacity decided.
fn limit_rejection_rate(sums: &Sums) -> Option<Finding> {
    let rejected = u128::from(sums.limit_rejected);
    let decided = [sums.totals.admitted, sums.totals.saturated, sums.totals.expired].map(u128::from);
    let decisions = rejected + decided.iter().sum::<u128>();
    if decisions < u128::from(OfOne::MIN_DECISIONS) {
        return None;
    }
    let is_at_least = |percent: u32| 100 * rejected >= decisions * u128::from(percent);
    let severity = match () {
        () if is_at_least(OfOne::REJECTION_CRITICAL_PERCENT) => Severity::Critical,
        () if is_at_least(OfOne::REJECTION_WARNING_PERCENT) => Severity::Warning,
        () => return None,
    };
    let percent = 100 * rejected / decisions;
    let message = format!("{rejected} of {decisions} calls got no partition ({percent} %)");
    Some(Finding { code: FindingCode::ElevatedLimitRejectionRate, severity, partitions: None, message })
}

/// Returns the findings of the counters of all partitions together, by the rules of a bulkhead.
fn rates(status: &Status, sums: &Sums) -> impl Iterator<Item = Finding> + use<> {
    let gate = Gate::<()>::new(status.each);
    let snapshot = gate.ok().map(|mut gate| {
        let mut all = gate.snapshot(None);
        all.totals = sums.totals;
        all
    });
    let counted = snapshot.into_iter().flat_map(|all| all.capacity_report().findings);
    counted.filter(|one| one.code.is_counted()).map(|one| Finding {
        code: one.code.into(),
        severity: one.severity,
        partitions: None,
        message: one.message,
    })
}

impl FindingCode {
    /// Returns the name in snake case, for machines. It never changes.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            FindingCode::PartitionLimitReached => "partition_limit_reached",
            FindingCode::ElevatedLimitRejectionRate => "elevated_limit_rejection_rate",
            FindingCode::SharedCapacityFull => "shared_capacity_full",
            FindingCode::Each(code) => code.as_str(),
        }
    }

    /// Returns what to do about the finding.
    #[must_use]
    pub const fn recommendation(self) -> &'static str {
        match self {
            FindingCode::PartitionLimitReached | FindingCode::ElevatedLimitRejectionRate => {
                "allow more partitions than are ever in use at the same time, or find out which calls do not end"
            }
            FindingCode::SharedCapacityFull => {
                "raise the shared capacity if the dependency has more, or give the keys that matter more weight"
            }
            FindingCode::Each(code) => code.recommendation(),
        }
    }
}

impl From<bulklink_core::FindingCode> for FindingCode {
    fn from(code: bulklink_core::FindingCode) -> Self {
        FindingCode::Each(code)
    }
}

impl fmt::Display for FindingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Finding {
    /// Returns what to do about the finding. For human readers; the wording may change.
    #[must_use]
    pub const fn recommendation(&self) -> &'static str {
        self.code.recommendation()
    }
}

/// Writes the severity, the code and the message.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.severity, self.code, self.message)
    }
}

/// Writes a summary in one sentence: the severity, and the worst finding with the number of others,
/// or the state if there is none.
impl fmt::Display for CapacityReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Status { label, snapshot, .. } = &self.status;
        write!(f, "bulkhead {label}: {}: ", self.severity())?;
        if snapshot.is_drained() && self.findings.is_empty() {
            return f.write_str("closed and drained");
        }
        if snapshot.is_closed {
            f.write_str("closed; ")?;
        }
        let Some(worst) = self.worst() else {
            let (kept, most) = (snapshot.partitions, snapshot.limits.max_partitions);
            return write!(f, "{kept} of {most} partitions, {} in use", snapshot.active_partitions);
        };
        f.write_str(&worst.message)?;
        match self.findings.len() {
            1 => Ok(()),
            2 => f.write_str("; 1 more finding"),
            findings => write!(f, "; {} more findings", findings - 1),
        }
    }
}
