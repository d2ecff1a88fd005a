//! What a caller asks of a bulkhead.

use core::time::Duration;

use crate::Clock;

/// One request for admission: its cost, whether it may wait, and until when.
///
/// As it starts, a request costs one unit and waits in the queue if it must, as long as the bulkhead's own limit lets it. The
/// four ways of asking are this default, [`now`](Request::now), [`within`](Request::within) and [`before`](Request::before);
/// they combine, and the strictest wins. All of them limit admission only: what was admitted is never cancelled.
///
/// `I` is how the runtime writes a point in time; it follows from the bulkhead that the request is given to.
///
/// ```
/// use bulklink::testing::FakeClock;
/// use bulklink::{Bulkhead, Reason, Request};
/// use std::time::Duration;
///
/// let reports = Bulkhead::builder_on(FakeClock::new(), "reports").capacity(10).waiting_room(5).build()?;
/// let large = reports.try_slot_with(Request::new().cost(8))?;
/// let too_much = reports.try_slot_with(Request::new().cost(3).within(Duration::from_millis(250)));
/// assert_eq!(too_much.unwrap_err().reason(), Reason::Saturated);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<I> {
    inner: bulklink_core::Request,
    before: Option<I>,
}

impl<I: Copy> Request<I> {
    /// A request for one unit that waits as long as the bulkhead lets it.
    #[must_use]
    pub const fn new() -> Self {
        Request { inner: bulklink_core::Request::new(), before: None }
    }

    /// Asks for `units` of capacity: at least 1 and at most all there is, or the call fails with
    /// [`Reason::InvalidCost`](crate::Reason::InvalidCost).
    #[must_use]
    pub const fn cost(mut self, units: usize) -> Self {
        self.inner = self.inner.cost(units);
        self
    }

    /// Never waits: admitted at once or rejected as saturated.
    #[must_use]
    pub const fn now(mut self) -> Self {
        self.inner = self.inner.now();
        self
    }

    /// Waits at most `limit`, and never longer than the bulkhead's own limit. The wait begins when the call is first polled.
    /// A limit of zero means admitted at once or expired.
    #[must_use]
    #[doc(alias = "timeout")]
    pub const fn within(mut self, limit: Duration) -> Self {
        self.inner = self.inner.within(limit);
        self
    }

    /// Is admitted only before `deadline`. If that is past already, the request expires at once, room or no room.
    #[must_use]
    #[doc(alias = "deadline")]
    pub const fn before(mut self, deadline: I) -> Self {
        self.before = Some(deadline);
        self
    }

    /// The request in the gate's time.
    #[inline]
    pub(crate) fn on<C: Clock<Instant = I>>(self, clock: &C) -> bulklink_core::Request {
        match self.before {
            Some(deadline) => self.inner.before(clock.instant(deadline)),
            None => self.inner,
        }
    }
}

impl<I: Copy> Default for Request<I> {
    fn default() -> Self {
        Request::new()
    }
}
