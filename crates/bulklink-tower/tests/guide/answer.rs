//! The example of the page `rejections-to-http.md`.

use std::time::{Duration, Instant};

use bulklink_tokio::{Bulkhead, Reason, Rejection};

/// The status and the seconds of `Retry-After`, if a retry makes sense. For a partition for each
/// tenant, write 429 in the last line. `deadline` is the caller's own.
pub(crate) fn answer(bulkhead: &Bulkhead, rejection: &Rejection, deadline: Option<Instant>) -> (u16, Option<u64>) {
    // Its wait ended before the deadline, by the time kept for the operation, or at the deadline.
    let is_late = rejection.kept().is_some() || deadline.is_some_and(|deadline| deadline <= Instant::now());
    match rejection.reason() {
        Reason::InvalidCost if rejection.cost() > 0 => (413, None),
        Reason::InvalidCost | Reason::InvalidLimits => (500, None),
        Reason::Expired if is_late => (504, None),
        Reason::Closed | Reason::PartitionLimit => (503, None),
        // Also for reasons that are added later.
        _ => (503, bulkhead.estimated_wait(rejection.cost()).map(whole_seconds)),
    }
}

/// Rounds up, to at least one.
fn whole_seconds(time: Duration) -> u64 {
    time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0)).max(1)
}
