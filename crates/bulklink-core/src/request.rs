//! A request for admission.

use core::time::Duration;

use crate::Instant;
use crate::coarse::Coarse;
use crate::instant::nanos;

/// A request for admission: its cost, whether it may wait, and until when.
///
/// By default a request costs one unit and waits in the queue if necessary, as long as the gate's
/// own limit allows. The ways of asking are this default, [`now`](Request::now),
/// [`within`](Request::within), and one of [`before`](Request::before) and
/// [`deadline`](Request::deadline); they combine, and the strictest applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// `u64::MAX` means no limit.
    within_nanos: u64,
    /// The far future means no deadline.
    until: Instant,
    /// `u32::MAX` means that many units or more: no gate has room for either.
    pub(crate) cost: u32,
    pub(crate) patience: Patience,
    /// The request's own reserve, if it has one. The flag is set if `until` is the deadline of the
    /// whole call.
    leaving: Coarse,
}

/// Whether a request waits if there is no room, and how its end counts until its outcome is set:
/// bits, which are tested where they are. An enum, so that a state with a request needs no byte of
/// its own. Without restrictions there is one bit, and the code is smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    Never = 0,
    /// In the queue, if that has a place.
    InQueue = 1,
    /// Only for a higher restriction.
    #[cfg(feature = "restriction")]
    Fetches = 2,
    /// In the queue, or without a place there, for a higher restriction.
    #[cfg(feature = "restriction")]
    InQueueOrFetches = 3,
    /// The same four, of a call whose end is ignored unless its outcome is set.
    #[cfg(feature = "restriction")]
    NeverIgnored = 4,
    #[cfg(feature = "restriction")]
    InQueueIgnored = 5,
    #[cfg(feature = "restriction")]
    FetchesIgnored = 6,
    #[cfg(feature = "restriction")]
    InQueueOrFetchesIgnored = 7,
}

impl Patience {
    const IGNORED: u8 = 4;
    const WAITS: u8 = 3;

    const fn of(bits: u8) -> Self {
        match bits {
            0 => Patience::Never,
            #[cfg(feature = "restriction")]
            2 => Patience::Fetches,
            #[cfg(feature = "restriction")]
            3 => Patience::InQueueOrFetches,
            #[cfg(feature = "restriction")]
            4 => Patience::NeverIgnored,
            #[cfg(feature = "restriction")]
            5 => Patience::InQueueIgnored,
            #[cfg(feature = "restriction")]
            6 => Patience::FetchesIgnored,
            #[cfg(feature = "restriction")]
            7 => Patience::InQueueOrFetchesIgnored,
            _ => Patience::InQueue,
        }
    }
}

// Every waiting call of a front stores a request.
const _: () = assert!(size_of::<Request>() == 24);

impl Request {
    /// Creates a request for one unit that waits as long as the gate allows.
    #[must_use]
    pub const fn new() -> Self {
        Request {
            cost: 1,
            patience: Patience::InQueue,
            within_nanos: u64::MAX,
            until: Instant::FAR_FUTURE,
            leaving: Coarse::NONE,
        }
    }

    /// Asks for `units` of capacity. The gate accepts 1 to its whole capacity.
    #[must_use]
    pub const fn cost(mut self, units: usize) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "checked to be less")]
        let cost = if units < u32::MAX as usize { units as u32 } else { u32::MAX };
        self.cost = cost;
        self
    }

    /// Returns the units that the request asks for, at most `u32::MAX`.
    #[must_use]
    #[inline]
    pub const fn units(&self) -> u32 {
        self.cost
    }

    /// Makes the request one that never waits: it is admitted immediately or rejected as saturated.
    #[must_use]
    pub const fn now(mut self) -> Self {
        self.patience = Patience::of(self.patience as u8 & Patience::IGNORED);
        self
    }

    /// Has the end of the call be no [sample](crate::Calls::sample) unless its
    /// [outcome](crate::Calls::set_outcome) is set: for an operation that can be cancelled.
    #[must_use]
    #[inline]
    #[cfg(feature = "restriction")]
    pub const fn ignored(mut self) -> Self {
        self.patience = Patience::of(self.patience as u8 | Patience::IGNORED);
        self
    }

    pub(crate) const fn is_ignored(&self) -> bool {
        self.patience as u8 & Patience::IGNORED != 0
    }

    /// Lets the request wait for a higher [restriction](crate::Gate::restrict) where it would be
    /// rejected as saturated, also if it never waits otherwise: as long as the gate lets it
    /// [fetch](crate::Gate::let_fetch). Then it expires.
    #[must_use]
    #[cfg(feature = "restriction")]
    pub const fn fetching(mut self) -> Self {
        self.patience = Patience::of(self.patience as u8 | Patience::Fetches as u8);
        self
    }

    /// Returns whether the request needs a place in the queue if it is not admitted at once.
    #[cfg(feature = "restriction")]
    #[must_use]
    pub const fn wants_place(&self) -> bool {
        self.may_queue() && !self.would_expire_immediately()
    }

    /// Returns whether the request waits in the queue if it must.
    #[inline]
    #[must_use]
    pub const fn may_queue(&self) -> bool {
        self.patience as u8 & Patience::InQueue as u8 != 0
    }

    /// Returns whether the request waits in any case.
    #[inline]
    pub(crate) const fn may_wait(&self) -> bool {
        self.patience as u8 & Patience::WAITS != 0
    }

    /// Returns whether the request [fetches](Request::fetching).
    #[inline]
    #[cfg(feature = "restriction")]
    #[must_use]
    pub const fn fetches(&self) -> bool {
        self.patience as u8 & Patience::Fetches as u8 != 0
    }

    /// Limits the wait to `limit`, in addition to the gate's own limit. With zero, the request is
    /// admitted immediately or expires.
    #[must_use]
    pub const fn within(mut self, limit: Duration) -> Self {
        self.within_nanos = nanos(limit);
        self
    }

    /// Sets a deadline for the admission: the request is admitted only before it. If the deadline
    /// is already past, the request expires immediately, whether there is room or not.
    ///
    /// Replaces a [`deadline`](Request::deadline).
    #[must_use]
    pub const fn before(mut self, deadline: Instant) -> Self {
        self.until = deadline;
        self.leaving = self.leaving.flagged(false);
        self
    }

    /// Sets a deadline for the whole call: its operation is to be over by then.
    ///
    /// The wait ends earlier, so that time is left for the operation: by the gate's
    /// [reserve](crate::Reserve) or by the request's [own](Request::leaving), but 5 % of the time
    /// may always be waited. If there is room and no request waits, the request is admitted with
    /// whatever time is left. If the deadline is already past, the request expires immediately.
    ///
    /// Replaces a [`before`](Request::before).
    #[must_use]
    pub const fn deadline(mut self, deadline: Instant) -> Self {
        self.until = deadline;
        self.leaving = self.leaving.flagged(true);
        self
    }

    /// Sets how much time the wait leaves to the operation, in place of the gate's
    /// [reserve](crate::Reserve). It applies only together with a [`deadline`](Request::deadline).
    /// It is rounded down by less than one part in 100,000; zero counts as a nanosecond.
    #[must_use]
    pub const fn leaving(mut self, reserve: Duration) -> Self {
        self.leaving = Coarse::new(nanos(reserve), self.leaving.is_flagged());
        self
    }

    /// Returns whether a [`Word`](crate::plumbing::Word) can decide on the request: it costs one
    /// unit, and has no deadline to compare with the time.
    #[inline]
    #[must_use]
    pub const fn is_simple(&self) -> bool {
        self.cost == 1 && !self.has_deadline()
    }

    /// Returns whether the request could wait and then expire. `limited` is whether the gate has a
    /// wait limit, or lets requests fetch.
    #[inline]
    #[must_use]
    pub const fn may_be_late(&self, limited: bool) -> bool {
        (limited || self.has_limit() || self.has_deadline()) && self.may_wait() && !self.would_expire_immediately()
    }

    pub(crate) const fn has_deadline(&self) -> bool {
        self.until.as_nanos() < Instant::FAR_FUTURE.as_nanos()
    }

    pub(crate) const fn has_limit(&self) -> bool {
        self.within_nanos < u64::MAX
    }

    pub(crate) fn is_past(&self, now: Instant) -> bool {
        self.has_deadline() && self.until <= now
    }

    /// Returns whether the request may wait, but only for zero time.
    pub(crate) const fn would_expire_immediately(&self) -> bool {
        self.may_queue() && self.within_nanos == 0
    }

    /// Returns the instant from which on the request is expired, for a wait that begins at `now`;
    /// the far future for never.
    #[inline]
    pub(crate) fn wait_end(&self, now: Instant, wait_limit: Option<Duration>) -> Instant {
        let limit = wait_limit.map_or(u64::MAX, nanos).min(self.within_nanos);
        now.saturating_add_nanos(limit).min(self.until)
    }

    /// Returns whether the request has a deadline for the whole call.
    #[inline]
    #[must_use]
    pub const fn has_call_deadline(&self) -> bool {
        self.leaving.is_flagged() && self.has_deadline()
    }

    /// Returns when the whole call is to be over, if it has such a deadline.
    pub(crate) const fn end(&self) -> Option<Instant> {
        if self.has_call_deadline() { Some(self.until) } else { None }
    }

    /// Returns the same request with a wait that ends at this instant at the latest. Nothing
    /// depends on the whole call any more.
    pub(crate) fn ending(self, wait_end: Instant) -> Self {
        Request { until: self.until.min(wait_end), ..self }
    }

    /// Returns the same request, which waits for so long at most.
    #[cfg(feature = "restriction")]
    pub(crate) fn at_most(self, wait: Duration) -> Self {
        Request { within_nanos: self.within_nanos.min(nanos(wait)), ..self }
    }

    /// Returns the request's own reserve in nanoseconds, if it has one.
    pub(crate) const fn own_reserve(&self) -> Option<u64> {
        self.leaving.nanos()
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
    fn only_a_request_with_a_limited_wait_may_be_late() {
        let (patient, hurried) = (Request::new(), Request::new().within(Duration::from_nanos(9)));
        assert!(!patient.may_be_late(false) && patient.may_be_late(true));
        for request in [hurried, patient.before(Instant::EPOCH), hurried.before(Instant::EPOCH)] {
            assert!(request.may_be_late(false) && request.may_be_late(true));
            assert!(!request.now().may_be_late(false) && !request.now().may_be_late(true));
            assert!(!request.within(Duration::ZERO).may_be_late(true));
        }
    }

    #[test]
    fn an_unrepresentable_limit_or_deadline_means_none() {
        assert_eq!(Request::new().within(Duration::MAX).before(Instant::FAR_FUTURE), Request::new());
    }

    #[test]
    fn a_cost_beyond_32_bits_saturates() {
        assert_eq!(Request::new().cost(usize::MAX).units(), u32::MAX);
        assert_eq!(Request::new().cost(7).units(), 7);
    }

    #[test]
    fn a_request_is_simple_that_costs_one_unit_and_has_no_deadline() {
        let simple = Request::new().within(Duration::from_nanos(9)).now();
        assert!(simple.is_simple() && !simple.cost(2).is_simple());
        assert!(!simple.before(Instant::EPOCH).is_simple() && !simple.deadline(Instant::EPOCH).is_simple());
    }
}
