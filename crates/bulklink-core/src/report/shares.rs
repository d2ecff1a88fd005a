//! The shares that a report is about, where the sample is large enough to mean something.

use core::time::Duration;

use super::CapacityReport;
use super::share::Share;
use crate::Snapshot;

pub(super) fn utilization(snapshot: &Snapshot) -> Option<Share> {
    Share::of(snapshot.in_use as u128, snapshot.limits.capacity as u128)
}

pub(super) fn queue_utilization(snapshot: &Snapshot) -> Option<Share> {
    Share::of(snapshot.waiting as u128, snapshot.limits.waiting_room as u128)
}

/// Queued, among those who came while there was a decision to make.
pub(super) fn queueing(snapshot: &Snapshot) -> Option<Share> {
    let totals = &snapshot.totals;
    let attempts = sum([totals.direct_admitted(), totals.queued, totals.saturated]);
    sample(totals.queued.into(), attempts, CapacityReport::MIN_ATTEMPTS)
}

/// Turned away for want of capacity, among those on whom that was decided.
pub(super) fn rejection(snapshot: &Snapshot) -> Option<Share> {
    let totals = &snapshot.totals;
    let rejected = sum([totals.saturated, totals.expired]);
    sample(rejected, rejected + u128::from(totals.admitted), CapacityReport::MIN_DECISIONS)
}

/// Expired in the queue, among those who joined it.
pub(super) fn expiration(snapshot: &Snapshot) -> Option<Share> {
    let totals = &snapshot.totals;
    sample(totals.expired.into(), totals.queued.into(), CapacityReport::MIN_QUEUED)
}

/// All waits that ended well, in as many wait limits.
pub(super) fn average_wait(snapshot: &Snapshot) -> Option<Share> {
    let (limit, waits) = (enough_waits(snapshot)?, snapshot.totals.admitted_from_queue);
    Share::of(snapshot.totals.cumulative_wait_nanos, limit.as_nanos().saturating_mul(waits.into()))
}

/// The longest wait that ended well, in a wait limit.
pub(super) fn longest_wait(snapshot: &Snapshot) -> Option<Share> {
    Share::of(snapshot.longest_wait_nanos.into(), enough_waits(snapshot)?.as_nanos())
}

/// The wait limit, if there were enough waits to hold against it.
fn enough_waits(snapshot: &Snapshot) -> Option<Duration> {
    snapshot.limits.wait_limit.filter(|_| snapshot.totals.admitted_from_queue >= CapacityReport::MIN_WAITS)
}

fn sample(part: u128, whole: u128, least: u64) -> Option<Share> {
    Share::of(part, whole).filter(|_| whole >= least.into())
}

/// In more bits than a counter has.
fn sum<const N: usize>(counts: [u64; N]) -> u128 {
    counts.into_iter().map(u128::from).sum()
}
