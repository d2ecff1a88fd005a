//! The request for admission that a caller passes to a bulkhead.

pub(crate) mod bound;

use core::time::Duration;

use crate::Clock;

/// A request for admission: its cost, whether it may wait, and until when.
///
/// By default, a request costs one unit, and waits in the queue if it must, up to the bulkhead's
/// own limit. To change that, use [`now`](Request::now), [`within`](Request::within), and one of
/// [`deadline`](Request::deadline), [`deadline_after`](Request::deadline_after) and
/// [`before`](Request::before); if they are combined, the strictest applies. All of them limit
/// admission only: an admitted operation is never cancelled.
///
/// `I` is the type in which the runtime writes a point in time. It is inferred from the bulkhead
/// that the request is passed to. A deadline may have another type that converts into it: on tokio,
/// it may be an instant of tokio or of the standard library.
///
/// ```
/// use bulklink_tokio::{Bulkhead, Reason, Request};
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let reports = Bulkhead::builder("reports").capacity(10).waiting_room(5).build()?;
/// let large = reports.with(Request::new().cost(8)).slot().await?;
/// let too_much = Request::new().cost(3).within(Duration::from_millis(250));
/// let rejection = reports.with(too_much).slot().await.unwrap_err();
/// assert_eq!(rejection.reason(), Reason::Expired);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<I> {
    inner: bulklink_core::Request,
    until: Option<Until<I>>,
}

/// A point in time: the deadline of the whole call, or of its admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until<I> {
    End(I),
    /// The end, counted from when the call is made.
    EndAfter(Duration),
    Admission(I),
}

impl<I: Copy> Request<I> {
    /// Makes a request for one unit that may wait up to the bulkhead's own limit.
    #[must_use]
    pub const fn new() -> Self {
        Request { inner: bulklink_core::Request::new(), until: None }
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
    ///
    /// Under a ceiling that can be raised at once, such as the share of a fleet, a call that is a
    /// future or blocks waits [for that](crate::Ceiling::set_fetch): some milliseconds at most.
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

    /// The whole call, with its operation, is to be over by `deadline`.
    ///
    /// A call that is admitted a millisecond before its deadline only wastes the slot. So its wait
    /// ends earlier, and leaves the *reserve* to the operation: the time that the bulkhead has
    /// [learnt](crate::Reserve::Learnt), or that was [set](crate::Builder::reserve), or [this
    /// call](Request::leaving) asks for. At least 5 % of the time may be waited. If a slot is free
    /// and no call waits, the call is admitted with whatever time is left. If the deadline has
    /// already passed, it expires immediately.
    ///
    /// The clock is read when the call asks for its slot and when it gives the slot back. The
    /// operation is not cancelled at the deadline. Replaces a [`before`](Request::before).
    ///
    /// ```
    /// use bulklink_tokio::{Bulkhead, Request, Reserve};
    /// use std::time::Duration;
    /// use tokio::time::Instant;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let reserve = Reserve::Fixed(Duration::from_millis(55));
    /// let builder = Bulkhead::builder("upstream").parallelism(1);
    /// let upstream = builder.reserve(reserve).build()?;
    /// let request = Request::new().deadline(Instant::now() + Duration::from_secs(2));
    /// let page = upstream.with(request).execute(async { "a page" }).await?;
    /// # assert_eq!(page, "a page");
    /// assert_eq!(upstream.status().ended_late, 0);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn deadline(mut self, deadline: impl Into<I>) -> Self {
        self.until = Some(Until::End(deadline.into()));
        self
    }

    /// The whole call, with its operation, is to be over when `time` has passed since the call was
    /// made: a [`deadline`](Request::deadline) for callers that limit how long they wait, as a
    /// header of a request does.
    ///
    /// The clock is read when the request is passed to a bulkhead, before the future is polled.
    /// Replaces a `deadline` or a `before`.
    ///
    /// ```
    /// use bulklink_tokio::{Bulkhead, Request};
    /// use std::time::Duration;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let upstream = Bulkhead::builder("upstream").parallelism(1).build()?;
    /// let request = Request::new().deadline_after(Duration::from_secs(2));
    /// let page = upstream.with(request).execute(async { "a page" }).await?;
    /// # assert_eq!(page, "a page");
    /// assert_eq!(upstream.status().ended_late, 0);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub const fn deadline_after(mut self, time: Duration) -> Self {
        self.until = Some(Until::EndAfter(time));
        self
    }

    /// Leaves `reserve` to the operation of this call, if it has a
    /// [`deadline`](Request::deadline): in place of the bulkhead's reserve, and without an effect
    /// on it. It is rounded down by less than one part in 100,000.
    #[must_use]
    pub const fn leaving(mut self, reserve: Duration) -> Self {
        self.inner = self.inner.leaving(reserve);
        self
    }

    /// Is admitted only before `deadline`, however little time is left to the operation then. For
    /// the deadline of a whole call, see [`deadline`](Request::deadline), which this replaces.
    ///
    /// If the deadline has already passed, the call expires immediately, even if a slot is free.
    #[must_use]
    pub fn before(mut self, deadline: impl Into<I>) -> Self {
        self.until = Some(Until::Admission(deadline.into()));
        self
    }

    /// Has the end of the call be no sign of the load, until its outcome is set.
    #[inline]
    pub(crate) fn ignored(mut self) -> Self {
        self.inner = self.inner.ignored();
        self
    }

    /// Converts the request to the gate's time.
    pub(crate) fn on<C: Clock<Instant = I>>(self, clock: &C) -> bulklink_core::Request {
        match self.until {
            Some(Until::End(deadline)) => self.inner.deadline(clock.instant(deadline)),
            Some(Until::EndAfter(time)) => self.inner.deadline(clock.now() + time),
            Some(Until::Admission(deadline)) => self.inner.before(clock.instant(deadline)),
            None => self.inner,
        }
    }
}

impl<I: Copy> Default for Request<I> {
    fn default() -> Self {
        Request::new()
    }
}
