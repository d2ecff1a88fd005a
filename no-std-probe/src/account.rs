//! What both drives must have counted in the end: they play the same script, through the same machine.

use core::time::Duration;

use bulklink_core::Snapshot;

use crate::say::say;

/// The longest that anyone waits in the script.
pub(crate) const WAIT_LIMIT: Duration = Duration::from_secs(2);

/// How long the one waits that is handed a slot.
pub(crate) const WAIT: Duration = Duration::from_millis(5);

/// Checks and prints the counters of a gate that has been through the script.
pub(crate) fn check(who: &str, snapshot: &Snapshot) {
    let totals = &snapshot.totals;
    assert_eq!((totals.admitted, totals.direct_admitted(), totals.admitted_from_queue), (2, 1, 1), "{who}: admitted");
    assert_eq!((totals.queued, totals.settled_waiting()), (3, 3), "{who}: queued and settled");
    assert_eq!((totals.saturated, totals.expired), (1, 1), "{who}: saturated and expired");
    assert_eq!((totals.closed_while_waiting, totals.rejected()), (1, 3), "{who}: closed, and all rejected");
    assert_eq!((totals.finished, totals.abandoned, totals.cancelled), (2, 0, 0), "{who}: ended");
    assert_eq!((totals.average_wait(), snapshot.longest_wait()), (Some(WAIT), WAIT), "{who}: waits");
    assert_eq!((snapshot.in_flight, snapshot.in_use, snapshot.waiting), (0, 0, 0), "{who}: occupancy");
    assert_eq!((snapshot.peak_in_flight, snapshot.peak_waiting), (1, 1), "{who}: peaks");
    assert!(snapshot.is_drained(), "{who}: closed and drained");
    let (admitted, queued, rejected, finished) = (totals.admitted, totals.queued, totals.rejected(), totals.finished);
    say!("{who}: counted {admitted} admitted, {queued} queued, {rejected} rejected, {finished} finished");
}
