//! The rules: one function for each code, which decides whether there is a finding.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::share::Share;
use super::{CapacityReport, Finding, FindingCode, Severity, shares};
use crate::{Restriction, Rounded, Snapshot};

use FindingCode::{
    ActiveWorkAboveCapacity, AdmissionPaused, AdmissionRestricted, ClosedWithActiveWork, ElevatedExpirationRate,
    ElevatedRejectionRate, ExecutionFull, FrequentQueueing, LargeWaitingRoom, UnboundedQueueWait, WaitTimeNearLimit,
    WaitingRoomFull, WaitingRoomNearCapacity,
};
use Severity::{Critical, Notice, Warning};

/// The rules, in the order of the codes.
const RULES: [fn(&Snapshot) -> Option<Finding>; 13] = [
    closed_with_active_work,
    admission_paused,
    admission_restricted,
    active_work_above_capacity,
    execution_full,
    waiting_room_near_capacity,
    waiting_room_full,
    unbounded_queue_wait,
    large_waiting_room,
    frequent_queueing,
    elevated_rejection_rate,
    elevated_expiration_rate,
    wait_time_near_limit,
];

/// Returns all findings of the snapshot.
pub(super) fn apply(snapshot: &Snapshot) -> Vec<Finding> {
    RULES.iter().filter_map(|rule| rule(snapshot)).collect()
}

#[expect(clippy::unnecessary_wraps, reason = "every rule returns its result")]
fn found(code: FindingCode, severity: Severity, message: String) -> Option<Finding> {
    Some(Finding { code, severity, message })
}

fn closed_with_active_work(snapshot: &Snapshot) -> Option<Finding> {
    if !snapshot.is_closed || snapshot.is_drained() {
        return None;
    }
    found(ClosedWithActiveWork, Notice, format!("closed with {} in flight", snapshot.in_flight))
}

fn admission_paused(snapshot: &Snapshot) -> Option<Finding> {
    if !snapshot.is_paused {
        return None;
    }
    found(AdmissionPaused, blocked_severity(snapshot), format!("paused, {} waiting", snapshot.waiting))
}

fn admission_restricted(snapshot: &Snapshot) -> Option<Finding> {
    let restriction = binding_restriction(snapshot)?;
    let Snapshot { in_use, waiting, limits, .. } = snapshot;
    let (by, units, capacity) = (restriction.by, restriction.units, limits.capacity);
    let message = format!("{by} allows {units} of {capacity} units, {in_use} in use, {waiting} waiting");
    found(AdmissionRestricted, blocked_severity(snapshot), message)
}

fn active_work_above_capacity(snapshot: &Snapshot) -> Option<Finding> {
    if snapshot.is_closed || !snapshot.is_over_capacity() {
        return None;
    }
    let (excess, capacity) = (snapshot.capacity_excess(), snapshot.limits.capacity);
    let severity = if snapshot.waiting > 0 { Warning } else { Notice };
    found(ActiveWorkAboveCapacity, severity, format!("{excess} in use beyond the capacity of {capacity}"))
}

/// Where two rules match the same state, only the graver one applies: see the rules before and
/// after.
fn execution_full(snapshot: &Snapshot) -> Option<Finding> {
    let is_explained = snapshot.is_over_capacity() || snapshot.is_paused || binding_restriction(snapshot).is_some();
    if !is_blocked(snapshot) || is_explained || is_waiting_room_full(snapshot) {
        return None;
    }
    found(ExecutionFull, blocked_severity(snapshot), fullness(snapshot))
}

/// Returns the severity of a state in which no request of one unit can be admitted.
fn blocked_severity(snapshot: &Snapshot) -> Severity {
    let affects_callers = snapshot.waiting > 0 || snapshot.limits.waiting_room == 0;
    if affects_callers { Warning } else { Notice }
}

/// Returns the restriction, if it is the reason why a request cannot be admitted that otherwise
/// could.
fn binding_restriction(snapshot: &Snapshot) -> Option<Restriction> {
    let binds = is_blocked(snapshot) && !snapshot.is_paused && snapshot.in_use < snapshot.limits.capacity;
    snapshot.binding().filter(|_| binds)
}

fn waiting_room_near_capacity(snapshot: &Snapshot) -> Option<Finding> {
    if !is_blocked(snapshot) || is_waiting_room_full(snapshot) {
        return None;
    }
    let places = shares::queue_utilization(snapshot).map(|taken| (taken, "places"));
    let units = shares::waiting_units(snapshot).map(|taken| (taken, "units"));
    let is_near = |(taken, _): &(Share, _)| taken.is_at_least(CapacityReport::NEARLY_FULL_PERCENT);
    let (taken, noun) = [places, units].into_iter().flatten().find(is_near)?;
    let message = format!("{} of {} {noun} in the waiting room taken ({} %)", taken.part, taken.whole, taken.percent());
    found(WaitingRoomNearCapacity, Warning, message)
}

fn waiting_room_full(snapshot: &Snapshot) -> Option<Finding> {
    if !is_blocked(snapshot) || !is_waiting_room_full(snapshot) {
        return None;
    }
    let (room, units) = (snapshot.limits.waiting_room, snapshot.limits.waiting_room_units);
    let taken = match units {
        Some(units) if snapshot.waiting < room => format!("{units} units"),
        _ => format!("{room} places"),
    };
    let message = format!("{}, and all {taken} to wait taken", fullness(snapshot));
    found(WaitingRoomFull, Critical, message)
}

fn unbounded_queue_wait(snapshot: &Snapshot) -> Option<Finding> {
    if snapshot.limits.waiting_room == 0 || snapshot.limits.wait_limit.is_some() {
        return None;
    }
    let room = places(snapshot);
    found(UnboundedQueueWait, Notice, format!("up to {room} may wait, for any length of time"))
}

/// Compares the waiting room with the units of capacity. Where operations cost more than one unit,
/// even fewer run than that.
fn large_waiting_room(snapshot: &Snapshot) -> Option<Finding> {
    let (room, capacity) = (places(snapshot), snapshot.limits.capacity);
    let many = capacity.saturating_mul(CapacityReport::LARGE_WAITING_ROOM_PER_UNIT);
    if room < CapacityReport::LARGE_WAITING_ROOM || room < many {
        return None;
    }
    found(LargeWaitingRoom, Notice, format!("up to {room} may wait for a capacity of {capacity}"))
}

fn frequent_queueing(snapshot: &Snapshot) -> Option<Finding> {
    let queued = shares::queueing(snapshot)?;
    if !queued.is_at_least(CapacityReport::FREQUENT_QUEUEING_PERCENT) {
        return None;
    }
    found(FrequentQueueing, Notice, format!("{} had to queue", count_of(queued, "requests")))
}

fn elevated_rejection_rate(snapshot: &Snapshot) -> Option<Finding> {
    let rejected = shares::rejection(snapshot)?;
    let (warning, critical) = (CapacityReport::REJECTION_WARNING_PERCENT, CapacityReport::REJECTION_CRITICAL_PERCENT);
    let severity = graded(rejected, warning, critical)?;
    found(ElevatedRejectionRate, severity, format!("{} found no room or expired", count_of(rejected, "requests")))
}

fn elevated_expiration_rate(snapshot: &Snapshot) -> Option<Finding> {
    let expired = shares::expiration(snapshot)?;
    let (warning, critical) = (CapacityReport::EXPIRATION_WARNING_PERCENT, CapacityReport::EXPIRATION_CRITICAL_PERCENT);
    let severity = graded(expired, warning, critical)?;
    found(ElevatedExpirationRate, severity, format!("{} expired there", count_of(expired, "requests in the queue")))
}

fn wait_time_near_limit(snapshot: &Snapshot) -> Option<Finding> {
    let (average, longest) = (shares::average_wait(snapshot)?, shares::longest_wait(snapshot)?);
    if !average.is_at_least(CapacityReport::AVERAGE_WAIT_PERCENT)
        && !longest.is_at_least(CapacityReport::LONGEST_WAIT_PERCENT)
    {
        return None;
    }
    let (limit, longest) = (snapshot.limits.wait_limit?, snapshot.longest_wait());
    let average = snapshot.totals.average_wait()?;
    let most = if longest.is_zero() { String::new() } else { format!(" and {} at most", Rounded(longest)) };
    let message = format!("waits of {} on average{most}, with a limit of {}", Rounded(average), Rounded(limit));
    found(WaitTimeNearLimit, Warning, message)
}

/// Returns whether a request of one unit would have to wait, which is also so if the head of the
/// queue is too large for the free units.
fn is_blocked(snapshot: &Snapshot) -> bool {
    !snapshot.is_closed && (snapshot.is_saturated() || snapshot.waiting > 0)
}

fn is_waiting_room_full(snapshot: &Snapshot) -> bool {
    let Snapshot { limits, waiting, waiting_units, .. } = snapshot;
    let has_units = limits.waiting_room_units.is_none_or(|units| *waiting_units < units as u64);
    limits.waiting_room > 0 && (*waiting >= limits.waiting_room || !has_units)
}

/// Returns how many requests may wait: each waits for a unit at least.
fn places(snapshot: &Snapshot) -> usize {
    snapshot.limits.waiting_room.min(snapshot.limits.waiting_room_units.unwrap_or(usize::MAX))
}

fn fullness(snapshot: &Snapshot) -> String {
    let in_use = snapshot.in_use;
    // More can be in use than a restriction allows.
    let capacity = Some(snapshot.effective_capacity()).filter(|units| in_use <= *units);
    let capacity = capacity.unwrap_or(snapshot.limits.capacity);
    match snapshot.free() {
        0 if snapshot.is_paused => format!("paused with {in_use} of {capacity} in use"),
        0 => format!("{in_use} of {capacity} in use"),
        free => format!("{in_use} of {capacity} in use, too few left ({free}) for the first waiter"),
    }
}

fn count_of(share: Share, noun: &str) -> String {
    format!("{} of {} {noun} ({} %)", share.part, share.whole, share.percent())
}

fn graded(share: Share, warning: u32, critical: u32) -> Option<Severity> {
    if share.is_at_least(critical) {
        return Some(Critical);
    }
    share.is_at_least(warning).then_some(Warning)
}
