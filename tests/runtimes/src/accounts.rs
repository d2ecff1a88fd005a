//! The counters of a bulkhead, which must add up after every test.

use bulklink::Status;

/// Asserts every identity that holds at every moment.
pub(crate) fn add_up(status: &Status) {
    let totals = &status.totals;
    let (in_flight, waiting) = (status.in_flight as u64, status.waiting as u64);
    assert_eq!(totals.admitted, totals.finished + totals.abandoned + in_flight, "admitted: {status:#?}");
    let left = totals.admitted_from_queue + totals.cancelled + totals.expired + totals.closed_while_waiting;
    assert_eq!(totals.queued, left + waiting, "queued: {status:#?}");
    let closed = totals.closed_before_queue + totals.closed_while_waiting;
    let rejected = totals.saturated + totals.expired + totals.expired_before_queue + closed;
    assert_eq!(totals.rejected(), rejected, "rejected: {status:#?}");
    let in_use = status.in_use as u64;
    assert_eq!(totals.admitted_units, totals.finished_units + totals.abandoned_units + in_use, "units: {status:#?}");
    let capacity = status.limits.capacity + status.capacity_excess();
    assert_eq!(status.in_use + status.free(), capacity, "capacity: {status:#?}");
    assert!(status.waiting <= status.peak_waiting && status.peak_waiting <= status.limits.waiting_room, "{status:#?}");
    assert!(status.in_flight <= status.peak_in_flight && status.in_use <= status.peak_in_use, "{status:#?}");
}

/// Asserts the identities, and that all has ended: no slot is lost, and no call waits.
pub(crate) fn are_settled(status: &Status) {
    add_up(status);
    assert_eq!((status.in_flight, status.in_use, status.waiting, status.waiting_units), (0, 0, 0, 0), "{status:#?}");
}

/// Returns whether no operation runs and no call waits.
pub(crate) fn is_idle(status: &Status) -> bool {
    status.in_flight == 0 && status.waiting == 0
}
