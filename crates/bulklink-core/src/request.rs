//! What a caller asks of the gate.

use core::time::Duration;

use crate::Instant;
use crate::instant::nanos;

/// One request for admission: its cost, whether it may wait, and until when.
///
/// As it starts, a request costs one unit and waits in the queue if it must, as long as the gate's own limit lets it. The four
/// ways of asking are this default, [`now`](Request::now), [`within`](Request::within) and [`before`](Request::before); they
/// combine, and the strictest wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// `u64::MAX` means no limit.
    within_nanos: u64,
    /// The far future means no deadline.
    before: Instant,
    /// `u32::MAX` means that much or more: no gate has room for either.
    pub(crate) cost: u32,
    pub(crate) may_queue: bool,
}

// Each waiting call of a front keeps one.
const _: () = assert!(size_of::<Request>() == 24);

impl Request {
    /// A request for one unit that waits as long as the gate lets it.
    #[must_use]
    pub const fn new() -> Self {
        Request { cost: 1, may_queue: true, within_nanos: u64::MAX, before: Instant::FAR_FUTURE }
    }

    /// Asks for `units` of capacity, at least 1 and at most all there is.
    #[must_use]
    pub const fn cost(mut self, units: usize) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "compared before")]
        let cost = if units < u32::MAX as usize { units as u32 } else { u32::MAX };
        self.cost = cost;
        self
    }

    /// Never waits: admitted at once or rejected as saturated.
    #[must_use]
    pub const fn now(mut self) -> Self {
        self.may_queue = false;
        self
    }

    /// Waits at most `limit`, and never longer than the gate's own limit. A limit of zero means admitted at once or expired.
    #[must_use]
    pub const fn within(mut self, limit: Duration) -> Self {
        self.within_nanos = nanos(limit);
        self
    }

    /// Is admitted only before `deadline`. If that is past already, the request expires at once, room or no room.
    #[must_use]
    pub const fn before(mut self, deadline: Instant) -> Self {
        self.before = deadline;
        self
    }

    /// Whether a [`Word`](crate::Word) can decide on it: it is of one unit, and has no deadline to be held against the time.
    #[inline]
    #[must_use]
    pub const fn is_simple(&self) -> bool {
        self.cost == 1 && !self.has_deadline()
    }

    /// Whether it may come to wait, and not for as long as it takes. `limited` says whether the gate has a limit for all.
    #[inline]
    #[must_use]
    pub const fn may_be_late(&self, limited: bool) -> bool {
        (limited || self.has_limit() || self.has_deadline()) && self.may_queue && !self.would_expire_at_once()
    }

    pub(crate) const fn has_deadline(&self) -> bool {
        self.before.as_nanos() < Instant::FAR_FUTURE.as_nanos()
    }

    pub(crate) const fn has_limit(&self) -> bool {
        self.within_nanos < u64::MAX
    }

    pub(crate) fn is_past(&self, now: Instant) -> bool {
        self.has_deadline() && self.before <= now
    }

    /// Whether it may wait, but for no time at all.
    pub(crate) const fn would_expire_at_once(&self) -> bool {
        self.may_queue && self.within_nanos == 0
    }

    /// The instant from which on it is too late, for a wait that begins `now`; the far future for never.
    #[inline]
    pub(crate) fn deadline(&self, now: Instant, wait_limit: Option<Duration>) -> Instant {
        let limit = wait_limit.map_or(u64::MAX, nanos).min(self.within_nanos);
        now.saturating_add_nanos(limit).min(self.before)
    }
}

impl Default for Request {
    fn default() -> Self {
        Request::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_that_may_wait_and_not_for_ever_may_be_late() {
        let (patient, hurried) = (Request::new(), Request::new().within(Duration::from_nanos(9)));
        assert!(!patient.may_be_late(false) && patient.may_be_late(true));
        for request in [hurried, patient.before(Instant::EPOCH), hurried.before(Instant::EPOCH)] {
            assert!(request.may_be_late(false) && request.may_be_late(true));
            assert!(!request.now().may_be_late(false) && !request.now().may_be_late(true));
            assert!(!request.within(Duration::ZERO).may_be_late(true));
        }
    }

    #[test]
    fn a_limit_and_a_deadline_beyond_all_numbers_are_none() {
        assert_eq!(Request::new().within(Duration::MAX).before(Instant::FAR_FUTURE), Request::new());
    }

    #[test]
    fn a_cost_beyond_all_gates_stays_so() {
        assert_eq!(Request::new().cost(usize::MAX).cost, u32::MAX);
        assert_eq!(Request::new().cost(7).cost, 7);
    }
}
