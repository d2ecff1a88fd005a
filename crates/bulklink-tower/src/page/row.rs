//! The figures of one bulkhead, or of partitions together.

use std::sync::Arc;
use std::time::Duration;

use bulklink::limit::Adaptive;
use bulklink::partitions::WorstKeys;
use bulklink::{Handle, Limits, Restriction, Severity, Snapshot, Totals, partitions};
use tokio::time::Instant;

use super::recent::Recent;
use super::worst::Rank;

/// How much of a label or a key is shown, in bytes. So a page is short, whatever they are.
const LONGEST_NAME: usize = 120;

/// How many keys of partitions are shown, for each kind of load.
const MOST_KEYS: usize = 10;

/// The row of a bulkhead, or of partitions.
pub(super) struct Row {
    pub(super) label: Arc<str>,
    pub(super) severity: Severity,
    /// Of all calls that were decided, from 0 to 1.
    pub(super) rejected_share: f64,
    /// The recent events, if the page was asked for lately.
    pub(super) recently: Option<Recently>,
    /// Of partitions: how many are in use, of those that may be kept; or of the capacity that they
    /// share.
    pub(super) utilization: f64,
    pub(super) is_closed: bool,
    pub(super) is_paused: bool,
    /// Of partitions: those of each.
    pub(super) limits: Limits,
    /// That of a bulkhead, if it is below the capacity.
    pub(super) restriction: Option<Restriction>,
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

/// The calls of the recent past.
pub(super) struct Recently {
    pub(super) time: Duration,
    pub(super) admitted: u64,
    pub(super) rejected: u64,
    pub(super) cancelled: u64,
    /// Of these.
    pub(super) rejected_share: f64,
}

/// The earlier figures of all bulkheads, partitions and breakers.
pub(super) struct Earlier {
    pub(super) bulkheads: Recent<Snapshot>,
    pub(super) partitions: Recent<partitions::Sums>,
    #[cfg(feature = "breaker")]
    pub(super) breakers: Recent<bulklink_breaker::BreakerTotals>,
}

pub(super) enum Kind {
    Bulkhead {
        oldest_wait: Option<Duration>,
        oldest_uncollected: Option<Duration>,
        longest_wait: Duration,
        adaptive: Option<Box<Adaptive>>,
    },
    /// With the adaptive limits together, how many of them have failed, and the worst keys, where
    /// these are shown.
    Partitions { status: Box<partitions::Status>, adaptive: Option<(usize, usize)>, keys: Option<WorstKeys> },
}

pub(super) struct Finding {
    pub(super) severity: Severity,
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl Row {
    /// Reads a bulkhead; the page was asked for `now`.
    pub(super) fn of_bulkhead(bulkhead: &Handle, earlier: &Recent<Snapshot>, now: Instant) -> Self {
        let status = bulkhead.status();
        // Another reading of this moment can have overtaken this one. Without earlier figures, only
        // the present is reported: there are no rates since now.
        let before = earlier.before(status.instance, now, &status.snapshot);
        let begins = [before, Some((Duration::ZERO, status.snapshot))].into_iter().flatten();
        let mut reports = begins.filter_map(|begin| status.capacity_report_since(&begin.1).ok().map(|of| (begin, of)));
        let ((time, begin), report) = reports.next().expect("a status is not before itself");
        let findings = report.report.findings.into_iter().map(|found| {
            let (severity, code, message) = (found.severity, found.code.as_str(), found.message);
            Finding { severity, code, message }
        });
        let findings = of_state(status.is_closed, status.is_paused).chain(findings).collect::<Vec<_>>();
        let rejected = status.totals.rejected();
        Row {
            severity: worst(&findings),
            recently: Recently::of(
                time,
                rejected.wrapping_sub(begin.totals.rejected()),
                &status.totals.since(&begin.totals),
            ),
            rejected_share: share(rejected, &status.totals),
            utilization: status.utilization(),
            is_closed: status.is_closed,
            is_paused: status.is_paused,
            limits: status.limits,
            restriction: status.restriction,
            in_flight: status.in_flight,
            in_use: status.in_use,
            written_off: status.written_off,
            waiting: status.waiting,
            waiting_units: status.waiting_units,
            uncollected: status.uncollected,
            rejected,
            taken_back: status.taken_back,
            totals: status.totals,
            findings,
            kind: Kind::Bulkhead {
                oldest_wait: status.oldest_wait,
                oldest_uncollected: status.oldest_uncollected(),
                longest_wait: status.longest_wait(),
                adaptive: status.adaptive.map(Box::new),
            },
            label: status.label,
        }
    }

    /// Reads partitions; the page was asked for `now`.
    pub(super) fn of_partitions(
        partitions: &partitions::Handle,
        earlier: &Recent<partitions::Sums>,
        now: Instant,
    ) -> Self {
        let sums = partitions.sums();
        let before = earlier.before(partitions.status().instance, now, &sums);
        // As above: the figures of a reading that has overtaken this one can be later than these.
        let before = before.filter(|(_, begin)| is_earlier(begin, &sums));
        let (time, begin) = before.unwrap_or_else(|| (Duration::ZERO, sums.clone()));
        let report = partitions.capacity_report(Some(&begin));
        let status = report.status;
        let findings = report.findings.into_iter().map(|found| {
            let (severity, code, message) = (found.severity, found.code.as_str(), found.message);
            Finding { severity, code, message }
        });
        let findings = of_state(status.is_closed, status.is_paused).chain(findings).collect::<Vec<_>>();
        let rejected = sums.rejected();
        Row {
            label: Arc::clone(&status.label),
            severity: worst(&findings),
            recently: Recently::of(time, rejected.wrapping_sub(begin.rejected()), &sums.totals.since(&begin.totals)),
            rejected_share: share(rejected, &sums.totals),
            utilization: status.shared.map_or_else(
                || ratio(status.active_partitions as u64, status.snapshot.limits.max_partitions as u64),
                |shared| ratio(shared.in_use as u64, shared.capacity as u64),
            ),
            is_closed: status.is_closed,
            is_paused: status.is_paused,
            limits: status.each,
            restriction: None,
            in_flight: sums.in_flight,
            in_use: sums.in_use,
            written_off: sums.written_off,
            waiting: sums.waiting,
            waiting_units: sums.waiting_units,
            uncollected: sums.uncollected,
            rejected,
            taken_back: sums.taken_back,
            totals: sums.totals,
            findings,
            kind: Kind::Partitions {
                status: Box::new(status),
                adaptive: sums.adaptive_limit.map(|limit| (limit, sums.failed_limits)),
                keys: partitions.worst_keys(MOST_KEYS),
            },
        }
    }

    pub(super) fn rank(&self) -> Rank {
        Rank {
            severity: self.severity,
            rejected_share: self.recently.as_ref().map_or(0.0, |recently| recently.rejected_share),
            utilization: self.utilization,
            waiting_share: ratio(self.waiting as u64, self.limits.waiting_room as u64),
            label: Arc::clone(&self.label),
        }
    }
}

/// Returns a label or a key, cut off if it is long, and whether it was.
pub(super) fn shortened(name: &str) -> (&str, bool) {
    if name.len() <= LONGEST_NAME {
        return (name, false);
    }
    let end = (0..=LONGEST_NAME).rev().find(|&end| name.is_char_boundary(end)).unwrap_or(0);
    (&name[..end], true)
}

impl Recently {
    pub(super) fn per_second(&self, calls: u64) -> f64 {
        per_second(calls, self.time)
    }

    /// The time is zero if there are no earlier figures.
    fn of(time: Duration, rejected: u64, totals: &Totals) -> Option<Self> {
        let Totals { admitted, cancelled, .. } = *totals;
        let rejected_share = share(rejected, totals);
        (time > Duration::ZERO).then_some(Recently { time, admitted, rejected, cancelled, rejected_share })
    }
}

/// Returns whether no call was counted in these figures that is missing in the others.
fn is_earlier(figures: &partitions::Sums, than: &partitions::Sums) -> bool {
    let counts = |sums: &partitions::Sums| [sums.totals.admitted, sums.totals.cancelled, sums.rejected()];
    counts(figures).iter().zip(counts(than)).all(|(earlier, later)| *earlier <= later)
}

/// Returns the findings *closed* and *paused*. A capacity report has little about these states,
/// because it is about load.
fn of_state(is_closed: bool, is_paused: bool) -> impl Iterator<Item = Finding> {
    let closed = (is_closed, Severity::Critical, "closed", "all calls are rejected");
    let paused = (is_paused, Severity::Warning, "paused", "no call is admitted");
    let states = [closed, paused].into_iter().filter(|(is_so, ..)| *is_so);
    states.map(|(_, severity, code, message)| Finding { severity, code, message: message.into() })
}

pub(super) fn worst(findings: &[Finding]) -> Severity {
    findings.iter().map(|finding| finding.severity).max().unwrap_or(Severity::Ok)
}

#[expect(clippy::cast_precision_loss, reason = "it is shown")]
pub(super) fn per_second(calls: u64, time: Duration) -> f64 {
    calls as f64 / time.as_secs_f64()
}

/// Returns the share of rejected calls among those that were admitted, rejected or cancelled.
fn share(rejected: u64, totals: &Totals) -> f64 {
    ratio(rejected, totals.admitted.saturating_add(rejected).saturating_add(totals.cancelled))
}

#[expect(clippy::cast_precision_loss, reason = "it is shown")]
pub(super) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use bulklink_tokio::Partitions;

    use super::*;

    /// Partitions after so many calls that were admitted, and as many that were rejected.
    fn tenants(calls: usize) -> Partitions<u32> {
        let tenants = Partitions::builder("tenants").parallelism(1).max_partitions(9).build().expect("valid");
        for _ in 0..calls {
            let _running = tenants.key(&7).try_slot().expect("free");
            tenants.key(&7).try_slot().expect_err("full");
        }
        tenants
    }

    #[test]
    fn figures_of_a_reading_that_has_overtaken_this_one_are_not_its_past() {
        let (before, tenants, later) = (tenants(1).handle().sums(), tenants(3), tenants(4).handle().sums());
        let start = Instant::now();
        let row = |past: &partitions::Sums| {
            let earlier = Recent::new();
            earlier.before(tenants.status().instance, start, past);
            Row::of_partitions(&tenants.handle(), &earlier, start + Duration::from_secs(1))
        };
        assert!(row(&later).recently.is_none());
        let recently = row(&before).recently.expect("looked at before");
        assert_eq!((recently.admitted, recently.rejected), (2, 2));
    }
}
