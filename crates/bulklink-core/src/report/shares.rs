//! The shares that a report is about, each `None` if its sample is too small to be meaningful.

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

/// Returns the units that are waited for, of those that may be, if they are bounded.
pub(super) fn waiting_units(snapshot: &Snapshot) -> Option<Share> {
    Share::of(snapshot.waiting_units.into(), snapshot.limits.waiting_room_units? as u128)
}

/// Returns the share of requests that queued, among those for which capacity decided.
pub(super) fn queueing(snapshot: &Snapshot) -> Option<Share> {
    let totals = &snapshot.totals;
    let attempts = sum([totals.direct_admitted(), totals.queued, totals.saturated]);
    sample(totals.queued.into(), attempts, CapacityReport::MIN_ATTEMPTS)
}

/// Returns the share of requests that were rejected because capacity was short, among those for
/// which capacity decided.
pub(super) fn rejection(snapshot: &Snapshot) -> Option<Share> {
    let totals = &snapshot.totals;
    let rejected = sum([totals.saturated, totals.expired, totals.given_up()]);
    sample(rejected, rejected + u128::from(totals.admitted), CapacityReport::MIN_DECISIONS)
}

/// Returns the share of requests that expired in the queue, among those that joined it.
pub(super) fn expiration(snapshot: &Snapshot) -> Option<Share> {
    let totals = &snapshot.totals;
    sample(totals.expired.into(), totals.queued.into(), CapacityReport::MIN_QUEUED)
}

/// Returns the sum of all waits that ended in admission, of as many wait limits.
pub(super) fn average_wait(snapshot: &Snapshot) -> Option<Share> {
    let (limit, waits) = (enough_waits(snapshot)?, snapshot.totals.admitted_from_queue);
    Share::of(snapshot.totals.waited.nanos(), limit.as_nanos().saturating_mul(waits.into()))
}

/// Returns the longest wait that ended in admission, of the wait limit.
pub(super) fn longest_wait(snapshot: &Snapshot) -> Option<Share> {
    Share::of(snapshot.longest_wait_nanos.into(), enough_waits(snapshot)?.as_nanos())
}

/// Returns the wait limit, if there were enough waits to compare with it.
fn enough_waits(snapshot: &Snapshot) -> Option<Duration> {
    snapshot.limits.wait_limit.filter(|_| snapshot.totals.admitted_from_queue >= CapacityReport::MIN_WAITS)
}

fn sample(part: u128, whole: u128, least: u64) -> Option<Share> {
    Share::of(part, whole).filter(|_| whole >= least.into())
}

/// Adds counts in 128 bits, so that the sum cannot overflow.
fn sum<const N: usize>(counts: [u64; N]) -> u128 {
    counts.into_iter().map(u128::from).sum()
}
