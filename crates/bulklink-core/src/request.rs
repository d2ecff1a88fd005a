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
    pub(crate) cost: usize,
    pub(crate) may_queue: bool,
    /// The most that 64 bits hold stands for no limit.
    within_nanos: u64,
    /// The far future stands for no deadline.
    before: Instant,
}

impl Request {
    /// A request for one unit that waits as long as the gate lets it.
    #[must_use]
    pub const fn new() -> Self {
        Request { cost: 1, may_queue: true, within_nanos: u64::MAX, before: Instant::FAR_FUTURE }
    }

    /// Asks for `units` of capacity, at least 1 and at most all there is.
    #[must_use]
    pub const fn cost(mut self, units: usize) -> Self {
        self.cost = units;
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

    /// The same in less room; `None` if the cost is more than any gate can have.
    #[inline]
    #[must_use]
    pub fn pack(&self) -> Option<PackedRequest> {
        let Request { cost, may_queue, within_nanos, before } = *self;
        Some(PackedRequest { within_nanos, before, cost: u32::try_from(cost).ok()?, may_queue })
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

/// A [`Request`] in 24 bytes, for whoever keeps many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedRequest {
    within_nanos: u64,
    before: Instant,
    cost: u32,
    may_queue: bool,
}

impl PackedRequest {
    /// The request in full.
    #[inline]
    #[must_use]
    pub const fn unpack(&self) -> Request {
        let PackedRequest { within_nanos, before, cost, may_queue } = *self;
        Request { cost: cost as usize, may_queue, within_nanos, before }
    }

    /// As [`Request::is_simple`].
    #[inline]
    #[must_use]
    pub const fn is_simple(&self) -> bool {
        self.cost == 1 && self.before.as_nanos() == Instant::FAR_FUTURE.as_nanos()
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
    fn packing_loses_nothing() {
        let requests = [Request::new(), Request::new().now(), Request::new().cost(7).within(Duration::ZERO)];
        for request in requests {
            for request in [request, request.before(Instant::from_nanos(5)).within(Duration::from_nanos(9))] {
                let packed = request.pack().unwrap();
                assert_eq!(packed.unpack(), request);
                assert_eq!(packed.is_simple(), request.is_simple());
            }
        }
        assert_eq!(
            Request::new().within(Duration::MAX).before(Instant::FAR_FUTURE),
            Request::new(),
            "no end is no limit"
        );
        assert!(
            size_of::<PackedRequest>() == 24
                && (size_of::<usize>() == 4 || Request::new().cost(1 << 32).pack().is_none())
        );
    }
}
