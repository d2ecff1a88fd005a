//! The one walk over all figures, which every output visits.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bulklink::config::FileStatus;
use bulklink::limit::{Adaptive, Mode};
use bulklink::partitions::{Class, ClassSums, KeyLoad, Sums};
use bulklink::{Figures, Handle, Histogram, Totals, partitions};

use crate::edges::{self, EDGES, INFINITE};
use crate::label;
use crate::table::Id;

/// How many keys of partitions are exported, for each metric.
const MOST_KEYS: usize = 10;

/// An output of the figures. For each member, all calls follow each other, and come in
/// the same order each time.
pub(crate) trait Visit {
    /// The calls until the next are about this member.
    fn member(&mut self, member: &Member<'_>);

    /// A value, with that of the label of its metric if it has one.
    fn value(&mut self, id: Id, label: Option<&'static str>, value: Value);

    /// A value of a key of partitions, which is cut if it is too long. The keys of a metric differ
    /// from one time to the next; no counter has them.
    fn of_key(&mut self, id: Id, key: Arc<str>, value: Value);

    /// A histogram: how many were at most as long as each edge, how many there were, and their sum.
    fn histogram(&mut self, id: Id, up_to: &mut dyn Iterator<Item = (&'static str, u64)>, count: u64, sum: Duration);
}

/// A bulkhead, a set of partitions, a circuit breaker, a share of a fleet's limit, or a file of
/// settings.
pub(crate) struct Member<'a> {
    /// The label, cut if it is too long.
    pub(crate) label: &'a str,
    /// The value of the label `kind`.
    pub(crate) kind: &'static str,
    /// Which of all that ever had this label it is.
    #[cfg_attr(
        not(any(feature = "metrics", feature = "opentelemetry")),
        allow(dead_code, reason = "where counters go on under the same label")
    )]
    pub(crate) instance: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    Whole(u64),
    Real(f64),
}

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Value::Whole(value as u64)
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Value::Whole(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Whole(value.into())
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Value::Real(value)
    }
}

impl From<Duration> for Value {
    fn from(value: Duration) -> Self {
        Value::Real(value.as_secs_f64())
    }
}

/// A visitor with shorter calls.
struct Pen<'a, V>(&'a mut V);

impl<V: Visit> Pen<'_, V> {
    fn put(&mut self, id: Id, value: impl Into<Value>) {
        self.0.value(id, None, value.into());
    }

    fn put_some(&mut self, id: Id, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(id, value);
        }
    }

    fn labelled(&mut self, id: Id, values: &[(&'static str, u64)]) {
        for &(label, value) in values {
            self.0.value(id, Some(label), value.into());
        }
    }

    fn histogram(&mut self, id: Id, histogram: &Histogram, sum: Duration) {
        let (up_to, count) = edges::count(histogram);
        let edges = EDGES.iter().zip(up_to).map(|(&(_, text), count)| (text, count));
        self.0.histogram(id, &mut edges.chain([(INFINITE, count)]), count, sum);
    }

    /// Of keys that are exported under one name, the first is.
    fn keys(&mut self, id: Id, loads: &[KeyLoad], value: impl Fn(&KeyLoad) -> Value) {
        let mut seen: Vec<Arc<str>> = Vec::with_capacity(loads.len());
        for load in loads {
            let key = match label::exported(&load.key) {
                Cow::Borrowed(_) => Arc::clone(&load.key),
                Cow::Owned(cut) => cut.into(),
            };
            if !seen.contains(&key) {
                self.0.of_key(id, Arc::clone(&key), value(load));
                seen.push(key);
            }
        }
    }

    fn classes(&mut self, id: Id, sums: &Sums, value: impl Fn(&ClassSums) -> u64) {
        let of_class = |class: Class| (class.as_str(), value(&sums.classes[class as usize]));
        self.labelled(id, &Class::ALL.map(of_class));
    }

    /// After most others, because it is absent where holds are not measured, and the other metrics
    /// keep their places. Where they are, capacity is offered from the first reading on.
    fn holds(&mut self, holds: &Histogram, sum: Duration, [busy, offered]: [Duration; 2], is_adaptive: bool) {
        if offered > Duration::ZERO || is_adaptive {
            self.histogram(Id::Hold, holds, sum);
            self.put(Id::BusyUnitSeconds, busy);
            self.put(Id::OfferedUnitSeconds, offered);
        }
    }

    /// Last of all, as it is absent in most bulkheads. Where it is not, holds are measured, so that
    /// its counters keep their places too.
    fn adaptive(&mut self, adaptive: &Adaptive) {
        let Adaptive { state, bounds: (least, most), mode, .. } = *adaptive;
        self.put(Id::Limit, state.limit);
        self.labelled(Id::LimitBound, &[("least", least as u64), ("greatest", most as u64)]);
        self.put(Id::LimitInflation, state.inflation);
        self.put(Id::LimitSlope, state.slope);
        self.put(Id::LimitUseful, nearest(state.useful));
        let modes = [Mode::Active, Mode::Frozen, Mode::Monitor];
        self.labelled(Id::LimitMode, &modes.map(|one| (one.as_str(), u64::from(one == mode))));
        self.labelled(Id::LimitStep, &[(state.step.as_str(), 1)]);
        self.put(Id::LimitFailed, adaptive.has_failed);
        self.put(Id::LimitWindows, state.windows);
        self.labelled(Id::LimitMoves, &[("up", adaptive.raised), ("down", adaptive.lowered)]);
        let causes = [("changed", state.changes), ("unpaid_fall", state.unpaid_falls), ("stall", state.stalls)];
        self.labelled(Id::LimitCorrections, &causes);
    }

    /// Each rejection is in one of these counts.
    fn rejected(&mut self, totals: &Totals, others: &[(&'static str, u64)]) {
        let reasons = [
            ("saturated", totals.saturated),
            ("expired", totals.expired),
            ("expired_before_queue", totals.expired_before_queue),
            ("displaced", totals.displaced),
            ("closed_before_queue", totals.closed_before_queue),
            ("closed_while_waiting", totals.closed_while_waiting),
        ];
        self.labelled(Id::Rejected, &reasons);
        self.labelled(Id::Rejected, others);
    }

    fn totals(&mut self, totals: &Totals) {
        let paths = [("direct", totals.direct_admitted()), ("queued", totals.admitted_from_queue)];
        self.labelled(Id::Admitted, &paths);
        self.put(Id::Cancelled, totals.cancelled);
        self.put(Id::Abandoned, totals.abandoned);
        self.put(Id::Finished, totals.finished);
    }
}

/// Visits the figures of a bulkhead.
pub(crate) fn bulkhead(handle: &Handle, label: &str, figures: &mut Figures, visit: &mut impl Visit) {
    handle.figures(figures);
    let one = &figures.status;
    visit.member(&Member { label, kind: "bulkhead", instance: one.instance });
    let mut pen = Pen(visit);
    pen.put(Id::Capacity, one.limits.capacity);
    pen.put(Id::WaitingRoom, one.limits.waiting_room);
    pen.put_some(Id::WaitingRoomUnits, one.limits.waiting_room_units);
    pen.put_some(Id::WaitLimit, one.limits.wait_limit);
    pen.put(Id::InUse, one.in_use);
    pen.put(Id::InFlight, one.in_flight);
    pen.put(Id::Waiting, one.waiting);
    pen.put(Id::WaitingUnits, one.waiting_units);
    pen.put(Id::Utilization, one.utilization());
    pen.put(Id::OwedUnits, one.capacity_excess());
    if let Some(restriction) = one.restriction {
        pen.labelled(Id::Withheld, &[(restriction.by, one.limits.capacity.saturating_sub(restriction.units) as u64)]);
    }
    pen.put(Id::Uncollected, one.uncollected);
    pen.put(Id::UncollectedAge, one.oldest_uncollected().unwrap_or_default());
    pen.put(Id::WrittenOff, one.written_off);
    pen.put(Id::Closed, one.is_closed);
    pen.put(Id::Paused, one.is_paused);
    pen.totals(&one.totals);
    pen.rejected(&one.totals, &[]);
    pen.put(Id::TakenBack, one.taken_back);
    pen.put(Id::EndedLate, one.ended_late);
    pen.histogram(Id::Wait, &figures.waits, one.totals.cumulative_wait());
    pen.holds(&figures.holds, one.cumulative_hold(), [one.busy(), one.offered()], one.adaptive.is_some());
    if let Some(adaptive) = &one.adaptive {
        pen.adaptive(adaptive);
    }
}

/// Visits the figures of partitions: their own, and the sums of them all.
pub(crate) fn partitions(
    handle: &partitions::Handle,
    label: &str,
    figures: &mut partitions::Figures,
    visit: &mut impl Visit,
) {
    handle.figures(figures);
    let (set, sums) = (&figures.status, &figures.sums);
    visit.member(&Member { label, kind: "partitions", instance: set.instance });
    let mut pen = Pen(visit);
    pen.put(Id::Capacity, sums.capacity);
    pen.put(Id::WaitingRoom, sums.waiting_room);
    pen.put_some(Id::WaitLimit, set.each.wait_limit);
    pen.put(Id::InUse, sums.in_use);
    pen.put(Id::InFlight, sums.in_flight);
    pen.put(Id::Waiting, sums.waiting);
    pen.put(Id::WaitingUnits, sums.waiting_units);
    pen.put(Id::OwedUnits, sums.capacity_excess);
    pen.put(Id::Uncollected, sums.uncollected);
    pen.put(Id::WrittenOff, sums.written_off);
    pen.put(Id::Closed, set.is_closed);
    pen.put(Id::Paused, set.is_paused);
    pen.put(Id::Partitions, set.partitions);
    pen.put(Id::ActivePartitions, set.active_partitions);
    pen.put(Id::MaxPartitions, set.limits.max_partitions);
    pen.put(Id::PartitionCapacity, set.each.capacity);
    pen.put(Id::PartitionWaitingRoom, set.each.waiting_room);
    let is_shared = set.shared.is_some();
    if is_shared {
        pen.classes(Id::ClassInUse, sums, |of_class| of_class.in_use as u64);
        pen.classes(Id::ClassWaiting, sums, |of_class| of_class.waiting as u64);
    }
    if let Some(worst) = handle.worst_keys(MOST_KEYS) {
        pen.keys(Id::KeyInUse, &worst.in_use, |load| load.in_use.into());
        pen.keys(Id::KeyWaiting, &worst.waiting, |load| load.waiting.into());
        let seconds = worst.period.unwrap_or_default().as_secs_f64();
        pen.keys(Id::KeyRejections, &worst.rejected, |load| per_second(load.rejected, seconds).into());
    }
    pen.totals(&sums.totals);
    pen.rejected(&sums.totals, &[("partition_limit", sums.limit_rejected), ("closed", sums.closed_rejected)]);
    pen.put(Id::TakenBack, sums.taken_back);
    pen.put(Id::EndedLate, sums.ended_late);
    if is_shared {
        pen.classes(Id::ClassAdmitted, sums, |of_class| of_class.totals.admitted);
        pen.classes(Id::ClassRejected, sums, |of_class| of_class.totals.rejected());
    }
    pen.put(Id::PartitionsCreated, set.totals.created);
    pen.put(Id::PartitionsEvicted, set.totals.evicted);
    pen.put(Id::PartitionsDiscarded, set.totals.discarded);
    pen.histogram(Id::Wait, &figures.waits, sums.totals.cumulative_wait());
    pen.holds(&figures.holds, sums.cumulative_hold, [sums.busy, sums.offered], sums.adaptive_limit.is_some());
    if let Some(limit) = sums.adaptive_limit {
        pen.put(Id::Limit, limit);
        pen.put(Id::LimitFailed, sums.failed_limits);
    }
}

/// Visits the fate of a file of settings.
pub(crate) fn file(file: &FileStatus, label: &str, visit: &mut impl Visit) {
    visit.member(&Member { label, kind: "settings", instance: file.instance });
    let mut pen = Pen(visit);
    pen.put(Id::SettingsOutdated, file.refusal.is_some());
    pen.put(Id::SettingsApplied, file.applied);
    pen.put(Id::SettingsRefused, file.refused);
}

/// Visits the figures of a circuit breaker.
#[cfg(feature = "breaker")]
pub(crate) fn breaker(status: &bulklink_breaker::BreakerStatus, label: &str, visit: &mut impl Visit) {
    use bulklink_breaker::State;
    visit.member(&Member { label, kind: "breaker", instance: status.instance });
    let (mut pen, view, counted) = (Pen(visit), &status.circuit, &status.totals);
    let is_now = |state| u64::from(view.state == state);
    let labelled =
        [("closed", is_now(State::Closed)), ("open", is_now(State::Open)), ("half_open", is_now(State::HalfOpen))];
    pen.labelled(Id::BreakerState, &labelled);
    pen.put(Id::BreakerForced, view.is_forced);
    // All failures are counted, and those of a kind are among them.
    let failures = counted.failures.saturating_sub(counted.timed_out + counted.panicked);
    let outcomes = [
        ("success", counted.successes),
        ("failure", failures),
        ("timed_out", counted.timed_out),
        ("panicked", counted.panicked),
        ("ignored", counted.ignored),
        ("cancelled", counted.cancelled),
    ];
    pen.labelled(Id::BreakerCalls, &outcomes);
    pen.put(Id::BreakerSlow, counted.slow);
    pen.put(Id::BreakerStale, counted.stale);
    pen.put(Id::BreakerRejected, counted.rejected);
    pen.put(Id::BreakerProbes, counted.probes);
    pen.put(Id::BreakerOpened, counted.opened);
    pen.put_some(Id::BreakerConnected, status.is_connected);
    if let Some(keys) = &status.keys {
        let closed = keys.kept - keys.open - keys.half_open;
        let counts = [("closed", closed), ("open", keys.open), ("half_open", keys.half_open)];
        pen.labelled(Id::BreakerKeys, &counts.map(|(state, count)| (state, count as u64)));
        pen.put(Id::BreakerWithoutCircuit, keys.without_circuit);
    }
}

/// Visits the figures of a share.
#[cfg(feature = "fleet")]
pub(crate) fn share(share: &crate::shares::Share, label: &str, visit: &mut impl Visit) {
    let status = &share.status;
    visit.member(&Member { label, kind: "share", instance: share.number });
    let mut pen = Pen(visit);
    pen.put(Id::ShareLimit, status.limit);
    pen.put(Id::ShareGranted, status.granted);
    pen.put(Id::ShareProcesses, status.processes);
    pen.put(Id::ShareConnected, status.error.is_none());
    pen.put(Id::ShareQuarantine, status.quarantine.unwrap_or_default());
    pen.put(Id::ShareRefused, status.refusal.is_some() || status.declined.is_some());
    pen.put(Id::ShareLost, status.lost);
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "beyond all limits, the last one")]
fn nearest(units: f64) -> u64 {
    units.round() as u64
}

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn per_second(count: u64, seconds: f64) -> f64 {
    count as f64 / seconds
}
