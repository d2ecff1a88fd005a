//! The request for admission that a caller passes to a bulkhead.

use core::time::Duration;

use crate::Clock;

/// A request for admission: its cost, whether it may wait, and until when.
///
/// By default, a request costs one unit, and waits in the queue if it must, up to the bulkhead's
/// own limit. To change that, use [`now`](Request::now), [`within`](Request::within) or
/// [`before`](Request::before); if they are combined, the strictest applies. All of them limit
/// admission only: an admitted operation is never cancelled.
///
/// `I` is the type in which the runtime writes a point in time. It is inferred from the bulkhead
/// that the request is passed to.
///
/// ```
/// use bulklink::testing::FakeClock;
/// use bulklink::{Bulkhead, Reason, Request};
/// use std::time::Duration;
///
/// let builder = Bulkhead::builder_on(FakeClock::new(), "reports");
/// let reports = builder.capacity(10).waiting_room(5).build()?;
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
    /// Makes a request for one unit that may wait up to the bulkhead's own limit.
    #[must_use]
    pub const fn new() -> Self {
        Request { inner: bulklink_core::Request::new(), before: None }
    }

    /// Sets the cost to `units` of capacity.
    ///
    /// It must be at least 1 and at most the whole capacity, or the call fails with
    /// [`Reason::InvalidCost`](crate::Reason::InvalidCost).
    #[must_use]
    pub const fn cost(mut self, units: usize) -> Self {
        self.inner = self.inner.cost(units);
        self
    }

    /// Does not wait: the call is admitted immediately, or rejected as saturated.
    #[must_use]
    pub const fn now(mut self) -> Self {
        self.inner = self.inner.now();
        self
    }

    /// Waits at most `limit`, and never longer than the bulkhead's own limit.
    ///
    /// The wait begins when the call is first polled. With a limit of zero, the call is admitted
    /// immediately, or expires.
    #[must_use]
    #[doc(alias = "timeout")]
    pub const fn within(mut self, limit: Duration) -> Self {
        self.inner = self.inner.within(limit);
        self
    }

    /// Is admitted only before `deadline`.
    ///
    /// If the deadline has already passed, the call expires immediately, even if a slot is free.
    #[must_use]
    #[doc(alias = "deadline")]
    pub const fn before(mut self, deadline: I) -> Self {
        self.before = Some(deadline);
        self
    }

    /// Converts the request to the gate's time.
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
