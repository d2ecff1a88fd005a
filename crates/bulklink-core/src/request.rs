//! What a caller asks of the gate.

use core::time::Duration;

use crate::Instant;

/// One request for admission: its cost, whether it may wait, and until when.
///
/// As it starts, a request costs one unit and waits in the queue if it must, as long as the gate's own limit lets it. The four
/// ways of asking are this default, [`now`](Request::now), [`within`](Request::within) and [`before`](Request::before); they
/// combine, and the strictest wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub(crate) cost: usize,
    pub(crate) may_queue: bool,
    pub(crate) within: Option<Duration>,
    pub(crate) before: Option<Instant>,
}

impl Request {
    /// A request for one unit that waits as long as the gate lets it.
    #[must_use]
    pub const fn new() -> Self {
        Request { cost: 1, may_queue: true, within: None, before: None }
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
        self.within = Some(limit);
        self
    }

    /// Is admitted only before `deadline`. If that is past already, the request expires at once, room or no room.
    #[must_use]
    pub const fn before(mut self, deadline: Instant) -> Self {
        self.before = Some(deadline);
        self
    }

    /// Whether a [`Word`](crate::Word) can decide on it: it is of one unit, and has no deadline to be held against the time.
    #[inline]
    #[must_use]
    pub const fn is_simple(&self) -> bool {
        self.cost == 1 && self.before.is_none()
    }

    /// Whether it may wait, but for no time at all.
    pub(crate) fn would_expire_at_once(&self) -> bool {
        self.may_queue && self.within == Some(Duration::ZERO)
    }

    /// The instant from which on it is too late, for a wait that begins `now`; the far future for never.
    pub(crate) fn deadline(&self, now: Instant, wait_limit: Option<Duration>) -> Instant {
        let limit = [self.within, wait_limit].into_iter().flatten().min().unwrap_or(Duration::MAX);
        now.saturating_add(limit).min(self.before.unwrap_or(Instant::FAR_FUTURE))
    }
}

impl Default for Request {
    fn default() -> Self {
        Request::new()
    }
}
