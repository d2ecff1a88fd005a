//! A bulkhead, a breaker and a limit on the run as one policy.

mod blocking;
mod builder;
mod closure;
mod error;
mod execute;
mod request;
mod run;
mod slot;
mod status;
mod wrap;

use std::fmt;
use std::future::Future;
use std::time::Duration;

use bulklink::runtime::{Clock, Runtime};
use bulklink::{Bulkhead, Request};

pub use self::builder::GuardBuilder;
pub use self::error::{GuardError, TimedOut};
use self::execute::Execute;
pub(crate) use self::request::Terms;
pub use self::request::{GuardRequest, KeyRequest};
pub(crate) use self::run::run_limited;
pub(crate) use self::slot::admit;
pub use self::status::GuardStatus;
pub use self::wrap::Guarded;
use crate::breaker::RunLimit;
use crate::{Breaker, Classify, ErrorsFail, Health};

/// A bulkhead, a circuit breaker and a limit on the run as one policy.
///
/// A call goes this way:
///
/// 1. If the circuit is open, it is rejected immediately.
/// 2. It waits for a slot of the bulkhead, first come, first served. If the circuit opens
///    meanwhile, it leaves the queue and is rejected immediately.
/// 3. With its slot, it asks the circuit once more, now as a probe if that is half-open.
/// 4. Its operation runs, at most for the run limit. Its result is the outcome that the
///    circuit counts; a panic and a run that is too long are failures.
///
/// A rejection by the bulkhead never counts as a failure: the dependency has not been asked.
///
/// Clones share the bulkhead and the circuit.
///
/// ```
/// use bulklink_breaker::{Guard, GuardError, Settings};
/// use bulklink_tokio::Bulkhead;
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bulkhead = Bulkhead::builder("payments")
///     .parallelism(10)
///     .waiting_room(50)
///     .wait_limit(Duration::from_millis(500))
///     .build()?;
/// let payments = Guard::builder(&bulkhead)
///     .settings(Settings::of_last(20).failures(10))
///     .run_limit(Duration::from_secs(2))
///     .build()?;
///
/// async fn pay(amount: u32) -> Result<&'static str, std::io::Error> {
///     # let _ = amount;
///     Ok("paid")
/// }
///
/// match payments.execute(pay(42)).await {
///     Ok(receipt) => assert_eq!(receipt, "paid"),
///     Err(GuardError::Open(open)) => println!("try again in {:?}", open.retry_after),
///     Err(GuardError::Rejected(rejection)) => println!("{}", rejection.reason()),
///     Err(GuardError::TimedOut(timed_out)) => println!("{timed_out}"),
///     Err(other) => println!("{other}"),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Guard<R, K = ErrorsFail> {
    bulkhead: Bulkhead<R>,
    breaker: Breaker<K>,
    /// For while the configuration of the breaker has none.
    own_limit: Option<RunLimit>,
}

impl<R, K> Guard<R, K> {
    /// Returns the bulkhead.
    #[must_use]
    pub const fn bulkhead(&self) -> &Bulkhead<R> {
        &self.bulkhead
    }

    /// Returns the breaker: its state, counters and transitions, and ways to open and close it.
    #[must_use]
    pub const fn breaker(&self) -> &Breaker<K> {
        &self.breaker
    }

    /// Returns the health of the dependency, by the state of the circuit.
    #[must_use]
    pub fn health(&self) -> Health {
        self.breaker.health()
    }

    /// Returns the status of the breaker and of the bulkhead.
    #[must_use]
    pub fn status(&self) -> GuardStatus {
        GuardStatus::of(self.bulkhead.label().into(), &self.breaker, Some(self.bulkhead.handle()))
    }

    /// Closes the circuit, and forgets all outcomes. The counters stay:
    /// [`BreakerTotals::since`](crate::BreakerTotals::since) returns the counts after it.
    pub fn reset(&self) {
        self.breaker.force_closed();
    }

    /// Returns how long an operation may run that begins now, if there is a limit: that of the
    /// [configuration](crate::BreakerConfig::run_limit), or else that of the builder.
    #[must_use]
    pub fn run_limit(&self) -> Option<Duration> {
        self.limit_now().map(RunLimit::duration)
    }

    #[inline]
    pub(crate) fn limit_now(&self) -> Option<RunLimit> {
        self.breaker.core().run_limit.or(self.own_limit)
    }
}

impl<R: Runtime, K> Guard<R, K> {
    /// Runs an operation behind the guard.
    ///
    /// # Errors
    ///
    /// If the circuit is open, the bulkhead rejects the call, or the operation runs too long; or
    /// with the operation's own error.
    ///
    /// # Fairness
    ///
    /// As that of [`Bulkhead::execute`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the operation, and then gives back its slot or its place in the
    /// queue. [`Call`](crate::Call) has how that counts.
    ///
    /// # Panics
    ///
    /// With the operation's panic, which is a failure; and, with a limit, where the runtime has no
    /// timer.
    #[inline]
    pub fn execute<T, E, F>(
        &self,
        operation: F,
    ) -> impl Future<Output = Result<T, GuardError<E>>> + use<'_, T, E, F, R, K>
    where
        F: Future<Output = Result<T, E>>,
        K: Classify<T, E>,
    {
        Execute::plain(self, operation)
    }

    /// Wraps an async function, so that each call of it runs behind this guard. A function of
    /// several arguments takes them as a tuple, as in `|(from, to)| transfer(from, to)`.
    ///
    /// ```
    /// use bulklink_breaker::Guard;
    /// use bulklink_tokio::Bulkhead;
    ///
    /// async fn send(amount: u32) -> Result<String, std::io::Error> {
    ///     Ok(format!("sent {amount}"))
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bulkhead = Bulkhead::builder("payments").parallelism(10).build()?;
    /// let send = Guard::builder(&bulkhead).build()?.wrap(send);
    /// assert_eq!(send.call(5).await?, "sent 5");
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "decorator")]
    pub fn wrap<F>(&self, function: F) -> Guarded<F, R, K>
    where
        K: Clone,
    {
        Guarded::new(function, self.clone())
    }
}

/// # Bind a request
impl<R: Clock, K> Guard<R, K> {
    /// Binds a request to this guard: the call that is then made has its cost, its limit on the
    /// wait and its deadline.
    ///
    /// ```
    /// use bulklink_breaker::Guard;
    /// use bulklink_tokio::{Bulkhead, Request};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bulkhead = Bulkhead::builder("payments").capacity(10).build()?;
    /// let payments = Guard::builder(&bulkhead).build()?;
    /// let large = Request::new().cost(4).now();
    /// let pay = async { Ok::<_, std::io::Error>("paid") };
    /// let receipt = payments.with(large).execute(pay).await?;
    /// # assert_eq!(receipt, "paid");
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub const fn with(&self, request: Request<R::Instant>) -> GuardRequest<'_, R, K> {
        GuardRequest::of_guard(self, request)
    }

    /// Binds a request that waits at most `limit`, and never longer than the bulkhead's own limit.
    #[inline]
    pub const fn within(&self, limit: Duration) -> GuardRequest<'_, R, K> {
        self.with(Request::new().within(limit))
    }
}

impl<R, K> Guard<R, K> {
    fn timed_out(&self, limit: RunLimit) -> TimedOut {
        TimedOut::new(self.breaker.shared_label(), Some(limit))
    }
}

impl<R, K> fmt::Debug for Guard<R, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("bulkhead", &self.bulkhead)
            .field("breaker", &self.breaker)
            .field("run_limit", &self.run_limit())
            .finish_non_exhaustive()
    }
}
