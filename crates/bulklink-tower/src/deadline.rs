//! The deadline of a request, from layer to layer and to the handler.

use std::fmt;
use std::sync::Arc;
use std::time::{self, Duration};

#[cfg(feature = "breaker")]
use bulklink::StdClock;
#[cfg(feature = "breaker")]
use bulklink::runtime::Clock;
use bulklink::runtime::{Instant, Runtime};

/// The deadline of a request, for its handler: how long the client still waits for the answer.
///
/// A layer that [reads a deadline](crate::BulkheadLayer::deadline_after) leaves it among the
/// extensions of a request of HTTP, if it [responds](crate::BulkheadLayer::respond) or
/// [holds the body](crate::BulkheadLayer::hold_body), or reads it
/// [from a header](crate::BulkheadLayer::deadline_from). Such layers inside take it over, with or
/// without a `deadline_after` of their own, and the earliest counts. The time for the whole request
/// began when it came to the outermost layer.
///
/// With the feature `axum` it is an extractor: `Deadline` where each request has one, as with
/// [`TimeoutHeader::or`](crate::http::TimeoutHeader::or), and otherwise `Option<Deadline>`. Without
/// a deadline, the first answers 500.
///
/// A client's request takes it over by [`attach`](Deadline::attach): with reqwest, as its timeout.
/// A [`BulkheadLayer`](crate::BulkheadLayer) around the client then waits no longer than that, and
/// [writes it into a header](crate::BulkheadLayer::forward_deadline).
///
#[cfg_attr(all(feature = "axum", feature = "http"), doc = "```")]
#[cfg_attr(not(all(feature = "axum", feature = "http")), doc = "```ignore")]
/// use axum::{Router, routing::get};
/// use bulklink_tokio::Bulkhead;
/// use bulklink_tower::http::TimeoutHeader;
/// use bulklink_tower::{BulkheadLayer, Deadline};
/// use std::time::Duration;
///
/// async fn order(deadline: Deadline) -> String {
///     // For example, `client.get(url).timeout(deadline.left())`.
///     format!("{:?} left", deadline.left())
/// }
///
/// let orders = Bulkhead::builder("orders").parallelism(16).waiting_room(64).build()?;
/// let timeout = TimeoutHeader::millis("x-timeout-ms")?.or(Duration::from_secs(10));
/// let limit = BulkheadLayer::new(&orders).deadline_from(&timeout).respond();
/// let app: Router = Router::new().route("/orders", get(order).layer(limit));
/// # Ok::<(), bulklink_tokio::InvalidArgument>(())
/// ```
#[derive(Clone)]
pub struct Deadline {
    at: Instant,
    clock: RequestClock,
    origin: Origin,
}

/// The author of a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "reqwest"), expect(dead_code, reason = "only reqwest has the timeouts of clients"))]
pub enum Origin {
    /// The caller of this service.
    Caller,
    /// This service, by a default or a ceiling.
    Service,
    /// Either of them: it is the timeout of a client's request.
    Client,
}

/// The clock of a layer, for the deadlines of its requests. Only this crate has one.
#[derive(Clone)]
pub struct RequestClock(Arc<dyn Fn() -> Instant + Send + Sync>);

impl RequestClock {
    pub(crate) fn new<R: Runtime>(runtime: &R) -> Self {
        let clock = runtime.clone();
        RequestClock(Arc::new(move || clock.now()))
    }

    /// The clock of this machine, for layers without a runtime.
    #[cfg(feature = "breaker")]
    pub(crate) fn of_the_machine() -> Self {
        RequestClock(Arc::new(|| StdClock.now()))
    }

    /// Returns the deadline after this time.
    pub(crate) fn after(&self, time: Duration, origin: Origin) -> Deadline {
        Deadline { at: (self.0)().saturating_add(time), clock: self.clone(), origin }
    }

    /// Returns the earlier deadline of two, on this clock: the other may be on another one, even if
    /// its runtime is of the same type.
    pub(crate) fn earlier(&self, own: Option<Deadline>, outer: Option<&Deadline>) -> Option<Deadline> {
        let outer = outer.map(|outer| self.after(outer.left(), outer.origin));
        match (own, outer) {
            (Some(own), Some(outer)) => Some(if outer.at < own.at { outer } else { own }),
            (own, outer) => own.or(outer),
        }
    }
}

impl Deadline {
    /// Returns how long it is to the deadline; zero if it has passed.
    #[must_use]
    pub fn left(&self) -> Duration {
        self.at.saturating_since((self.clock.0)())
    }

    /// Returns the deadline on the machine's clock, such as for `tokio::time::timeout_at`.
    ///
    /// It is computed from the time that is left, so two results differ a little. A time beyond
    /// that clock is a year from now.
    #[must_use]
    pub fn at(&self) -> time::Instant {
        const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
        let now = time::Instant::now();
        now.checked_add(self.left()).unwrap_or(now + YEAR)
    }

    /// Gives a client's request this deadline, unless it has an earlier one: a request of reqwest
    /// as its timeout, one of `http` among its extensions.
    ///
    /// A timeout is the time that is left now: attach it last, and again for each attempt of a
    /// request that is retried.
    ///
    /// ```
    /// # #[cfg(feature = "reqwest")]
    /// # {
    /// use bulklink_tower::{Deadline, Failure};
    /// use reqwest::{Client, Method, Request};
    ///
    /// async fn search(deadline: Deadline) -> Result<String, Failure> {
    ///     let request = Request::new(Method::GET, "http://search.internal".parse()?);
    ///     let answer = Client::new().execute(deadline.attach(request)).await?;
    ///     Ok(answer.text().await?)
    /// }
    /// # let _ = search;
    /// # }
    /// ```
    #[cfg(feature = "http")]
    #[must_use]
    pub fn attach<Q: crate::http::hold::ShareSlot>(&self, mut request: Q) -> Q {
        if let Some(earliest) = self.clock.earlier(Some(self.clone()), request.deadline(&self.clock).as_ref()) {
            request.leave_deadline(earliest);
        }
        request
    }

    /// Returns the deadline on the clock of its layer.
    pub(crate) fn instant(&self) -> Instant {
        self.at
    }

    /// Returns the deadline of a call that begins now, if that gives it less time than its service
    /// does, which is the run limit of its guard. A layer takes `margin` off.
    #[cfg(feature = "breaker")]
    pub(crate) fn shorter_than(&self, run_limit: Option<Duration>, margin: Duration) -> Option<ShortDeadline> {
        let is_short = match (self.origin, run_limit) {
            (Origin::Service, _) | (Origin::Client, None) => false,
            (Origin::Caller, None) => true,
            // The way to the guard has taken a little of a deadline that is as long.
            (_, Some(limit)) => self.left().saturating_sub(margin) < limit.saturating_sub(limit / 8),
        };
        is_short.then(|| ShortDeadline { deadline: self.clone(), margin })
    }
}

/// A deadline from which on a failure is no sign of the dependency: it had less time than it may
/// take.
#[cfg(feature = "breaker")]
#[derive(Debug)]
pub struct ShortDeadline {
    deadline: Deadline,
    margin: Duration,
}

#[cfg(feature = "breaker")]
impl ShortDeadline {
    pub(crate) fn has_passed(&self) -> bool {
        self.deadline.left() <= self.margin
    }
}

impl fmt::Debug for RequestClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestClock").finish_non_exhaustive()
    }
}

impl fmt::Debug for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deadline").field("left", &self.left()).finish_non_exhaustive()
    }
}

#[cfg(feature = "axum")]
mod extract {
    use std::convert::Infallible;

    use axum::extract::{FromRequestParts, OptionalFromRequestParts};
    use axum::http::StatusCode;
    use axum::http::request::Parts;

    use super::Deadline;

    /// Needs a deadline: its absence is a mistake of the program, such as a layer that is not
    /// there.
    impl<S: Sync> FromRequestParts<S> for Deadline {
        type Rejection = (StatusCode, &'static str);

        async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
            let missing = "The request has no deadline: no layer of its route has read one, or set a default.";
            parts.extensions.get().cloned().ok_or((StatusCode::INTERNAL_SERVER_ERROR, missing))
        }
    }

    impl<S: Sync> OptionalFromRequestParts<S> for Deadline {
        type Rejection = Infallible;

        async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Infallible> {
            Ok(parts.extensions.get().cloned())
        }
    }
}

#[cfg(test)]
mod tests {
    use bulklink::testing::{Executor, FakeClock};

    use super::*;

    #[test]
    fn the_point_in_time_is_as_far_away_as_the_time_that_is_left() {
        let mut executor = Executor::new(FakeClock::new());
        let clock = RequestClock::new(&executor.runtime());
        let deadline = clock.after(Duration::from_secs(100), Origin::Caller);
        executor.advance(Duration::from_secs(40));
        let (least, at, most) = (time::Instant::now(), deadline.at(), time::Instant::now());
        assert_eq!(deadline.left(), Duration::from_secs(60));
        assert!(at >= least + Duration::from_secs(60) && at <= most + Duration::from_secs(60));
        executor.advance(Duration::from_secs(100));
        assert_eq!(deadline.left(), Duration::ZERO);
        assert!(clock.after(Duration::MAX, Origin::Caller).at() > time::Instant::now());
    }
}
