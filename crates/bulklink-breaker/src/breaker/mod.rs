//! A circuit breaker for tasks and threads.

mod ask;
mod builder;
mod call;
mod core;
mod counters;
mod error;
mod event;
mod execute;
mod log;
mod look;
mod reconfigure;
mod run_limit;
mod status;
mod totals;
mod waiters;

use std::fmt;
use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bulklink::plumbing::catch;
use bulklink::{HandlerId, InvalidArgument};

pub use self::builder::BreakerBuilder;
pub use self::call::Call;
pub(crate) use self::call::Source;
pub(crate) use self::core::{Core, Ending, Ticket, next_instance};
pub use self::error::{BreakerError, OpenCircuit};
pub use self::event::Transition;
use self::execute::Execute;
pub(crate) use self::execute::Operation;
pub(crate) use self::log::Log;
pub(crate) use self::run_limit::{LiveLimit, RunLimit};
pub use self::status::{BreakerStatus, KeysStatus};
pub use self::totals::{BreakerTotals, Health};
use crate::circuit::Settings;
use crate::{Classify, ErrorsFail, Instant};

/// The outcome of a call, as a sign of the dependency's health.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// It works.
    Success,
    /// It does not.
    Failure,
    /// Nothing: the call counts for neither side.
    Ignore,
}

/// The parts that do not change.
pub(crate) struct Config {
    pub(crate) label: Arc<str>,
    pub(crate) count_cancelled: bool,
    log: Log,
    now: Box<dyn Fn() -> Instant + Send + Sync>,
}

/// A circuit breaker: while too many calls fail, it rejects all others immediately.
///
/// Clones share the circuit.
///
/// ```
/// use bulklink::StdClock;
/// use bulklink_breaker::{Breaker, BreakerError, Health, Settings};
/// use std::time::Duration;
///
/// let settings = Settings::of_last(10).failures(5).cool_down(Duration::from_secs(30));
/// let payments = Breaker::builder_on(StdClock, "payments").settings(settings).build()?;
///
/// // Runs a closure, or an async operation: their results open the circuit.
/// let pay = || payments.blocking_execute(|| Err::<(), _>("refused"));
/// for _ in 0..5 {
///     assert_eq!(pay(), Err(BreakerError::Operation("refused")));
/// }
/// assert!(matches!(pay(), Err(BreakerError::Open(_))));
/// assert_eq!(payments.health(), Health::Isolated);
///
/// // The same by hand.
/// payments.force_closed();
/// let call = payments.admit()?;
/// call.succeed();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Cost
///
/// A call of a closed circuit without a failed or slow call in its window reads an atomic number
/// twice, and counts its success. Other outcomes take a lock for a short time. A circuit that
/// counts slow calls also reads the clock, twice a call.
///
/// A call that an open circuit rejects reads the clock once, which is most of its cost. On Tokio's
/// clock within `bulklink::Tsc` (feature `tsc` of `bulklink`), it takes two thirds of the
/// instructions.
#[derive(Clone)]
pub struct Breaker<K = ErrorsFail> {
    core: Arc<Core>,
    classify: K,
}

impl<K> Breaker<K> {
    pub(crate) fn new(core: Arc<Core>, classify: K) -> Self {
        Breaker { core, classify }
    }

    /// Returns the same circuit with another classifier, such as for a breaker that a configuration
    /// has made.
    ///
    /// ```
    /// use bulklink_breaker::{Breaker, BreakerRegistry, Outcome};
    ///
    /// let breakers = BreakerRegistry::new();
    /// let mail = Breaker::builder_on(bulklink::StdClock, "mail").build()?;
    /// breakers.add_breaker(&mail)?;
    /// let lenient = mail.classified(|result: &Result<(), &str>| match result {
    ///     Err("timeout") => Outcome::Failure,
    ///     Err(_) => Outcome::Ignore,
    ///     Ok(()) => Outcome::Success,
    /// });
    /// for _ in 0..10 {
    ///     assert!(lenient.blocking_execute(|| Err("no such mailbox")).is_err());
    /// }
    /// assert!(mail.health().is_healthy());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn classified<C>(&self, classify: C) -> Breaker<C> {
        Breaker { core: Arc::clone(&self.core), classify }
    }

    pub(crate) const fn classifier(&self) -> &K {
        &self.classify
    }

    /// Returns the name.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.core.config.label
    }

    pub(crate) fn shared_label(&self) -> Arc<str> {
        Arc::clone(&self.core.config.label)
    }

    /// Returns the settings.
    #[must_use]
    pub fn settings(&self) -> Settings {
        self.core.settings()
    }

    /// Changes the settings while calls run, and returns those before. The state stays as it is, as
    /// [`Circuit::set_settings`](crate::Circuit::set_settings) describes, with the cool-down that
    /// has begun; calls that began while durations did not matter are not slow.
    ///
    /// # Errors
    ///
    /// If a setting is impossible, or the circuit is shared with other processes, which have agreed
    /// on its settings. Nothing changes then.
    ///
    /// ```
    /// use bulklink_breaker::{Breaker, Settings};
    ///
    /// let clock = bulklink::StdClock;
    /// let payments = Breaker::builder_on(clock, "payments").build()?;
    /// let before = payments.reconfigure(Settings::of_last(20).failures(10))?;
    /// assert_eq!(before, Settings::consecutive(5));
    /// # Ok::<(), bulklink::InvalidArgument>(())
    /// ```
    pub fn reconfigure(&self, settings: Settings) -> Result<Settings, InvalidArgument> {
        self.core.set_settings(settings)
    }

    /// Lets a call through. Its outcome must be given back.
    ///
    /// # Errors
    ///
    /// If the circuit is open, or half-open with as many probes as may run.
    #[inline]
    pub fn admit(&self) -> Result<Call<'_>, OpenCircuit> {
        self.admit_operation().map(Call::held)
    }

    /// As `admit`, for a call that polls its operation, or catches its panic.
    #[inline]
    pub(crate) fn admit_operation(&self) -> Result<Call<'_>, OpenCircuit> {
        let (pass, began) = self.core.admit()?;
        Ok(Call::new(Source::Borrowed(&self.core), pass, began))
    }

    /// As [`admit`](Breaker::admit), for a call that borrows nothing.
    ///
    /// # Errors
    ///
    /// As `admit`.
    #[inline]
    pub fn admit_owned(&self) -> Result<Call<'static>, OpenCircuit> {
        let (pass, began) = self.core.admit()?;
        Ok(Call::new(Source::Owned(Arc::clone(&self.core)), pass, began).held())
    }

    /// As [`admit`](Breaker::admit), but waits where only other processes can let the call through.
    ///
    /// That is so while a circuit that `bulklink-fleet` shares is half-open and its store is in
    /// reach; `admit` then lets no call through. Otherwise the future is ready immediately.
    ///
    /// The wait is limited by the store's timeout, and is longer only while the store answers
    /// slowly for 16 other circuits of the process. Without an answer, or if the task that asks has
    /// ended with its runtime, the circuit decides as `admit` does.
    ///
    /// # Errors
    ///
    /// If the circuit is open, or half-open with as many probes as may run: in this process, or in
    /// all of them by the store.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped lets no call through. A place that the store has given it is given
    /// back, and counts for neither side even where cancelled calls count.
    pub async fn ask(&self) -> Result<Call<'_>, OpenCircuit> {
        self.core.ask_operation().await.map(Call::held)
    }

    /// As `ask`, for a call that borrows nothing, and polls its operation or catches its panic.
    pub(crate) async fn ask_owned_operation(&self) -> Result<Call<'static>, OpenCircuit> {
        let (pass, began) = self.core.admit_or_ask().await?;
        Ok(Call::new(Source::Owned(Arc::clone(&self.core)), pass, began))
    }

    /// As `ask`, for a call that catches the panic of its operation, but blocks the thread.
    #[inline]
    pub(crate) fn blocking_ask_operation(&self) -> Result<Call<'_>, OpenCircuit> {
        let (pass, began) = self.core.blocking_admit()?;
        Ok(Call::new(Source::Borrowed(&self.core), pass, began))
    }

    /// As `admit_operation`, if the circuit is closed.
    #[inline]
    pub(crate) fn admit_closed(&self) -> Option<Call<'_>> {
        let (ticket, began) = self.core.admit_closed()?;
        Some(Call::new(Source::Borrowed(&self.core), ticket.pass(), began))
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// Returns whether a call would be let through now. If not, that is counted as a rejection.
    ///
    /// # Errors
    ///
    /// As [`admit`](Breaker::admit).
    #[inline]
    pub fn check(&self) -> Result<(), OpenCircuit> {
        self.core.check()
    }

    /// Runs an operation. The classifier decides how its result counts: without one, each error is
    /// a failure.
    ///
    /// # Errors
    ///
    /// If the circuit is open, or with the operation's own error.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the operation; see [`Call`] for what that counts as.
    ///
    /// # Panics
    ///
    /// With the operation's panic, which is a failure; and where the classifier panics.
    pub fn execute<T, E, F>(
        &self,
        operation: F,
    ) -> impl Future<Output = Result<T, BreakerError<E>>> + use<'_, T, E, F, K>
    where
        F: Future<Output = Result<T, E>>,
        K: Classify<T, E>,
    {
        Execute::new(self, operation)
    }

    /// Runs a closure on this thread. Its result counts as in [`execute`](Breaker::execute), and
    /// its panic is a failure.
    ///
    /// # Errors
    ///
    /// If the circuit is open, or with the closure's own error.
    ///
    /// # Panics
    ///
    /// With the closure's panic, and where the classifier panics.
    pub fn blocking_execute<T, E>(&self, operation: impl FnOnce() -> Result<T, E>) -> Result<T, BreakerError<E>>
    where
        K: Classify<T, E>,
    {
        let call = self.blocking_ask_operation()?;
        // Caught, because a closure may run and succeed on a thread that is panicking already.
        match catch(operation) {
            Ok(result) => {
                call.settle(self.classify.classify(&result));
                result.map_err(BreakerError::Operation)
            }
            Err(payload) => {
                call.panic();
                resume_unwind(payload)
            }
        }
    }

    /// Returns a future that completes at the next transition after this call.
    pub fn transition(&self) -> impl Future<Output = ()> + Unpin + Send + use<K> {
        NextTransition::new(Source::Owned(Arc::clone(&self.core)))
    }

    /// Completes when the circuit would not let a call through, which is counted as a rejection.
    pub(crate) async fn opened(&self) -> OpenCircuit {
        loop {
            // In this order, so that no transition falls between.
            let transition = NextTransition::new(Source::Borrowed(&self.core));
            if let Err(open) = self.check() {
                return open;
            }
            transition.await;
        }
    }

    /// Returns the state of the circuit and the counters, in one reading.
    #[must_use]
    pub fn status(&self) -> BreakerStatus {
        self.core.status()
    }

    /// Returns the health, which is truthful without any traffic.
    #[must_use]
    pub fn health(&self) -> Health {
        self.core.view().state.into()
    }

    /// Opens the circuit until it is closed by hand.
    ///
    /// A circuit that processes share is opened here immediately, and in all processes as soon
    /// as the store has it. If the store is out of reach, it gets it later.
    pub fn force_open(&self) {
        self.core.force(true);
    }

    /// Closes the circuit, and forgets all outcomes. Calls that run already count no more.
    ///
    /// A circuit that processes share is closed here immediately, and in all processes as soon
    /// as the store has it. If the store is out of reach, it gets it later, unless the circuit has
    /// opened again meanwhile.
    pub fn force_closed(&self) {
        self.core.force(false);
    }

    /// Calls `handler` at each transition, in order, under no lock, on a thread that causes one. If
    /// several threads do so at the same time, one of them calls it for all: it may still be called
    /// when [`force_open`](Breaker::force_open) returns on another. Returns an id to
    /// [remove](Breaker::remove_transition_handler) it by.
    ///
    /// The circuit becomes half-open when the first call comes after the cool-down. A handler that
    /// panics is caught. For a log, the feature `tracing` needs no handler.
    pub fn add_transition_handler(&self, handler: impl Fn(&Transition) + Send + Sync + 'static) -> HandlerId {
        self.core.handlers().add(Arc::new(handler))
    }

    /// Removes a transition handler. Returns whether it was there.
    ///
    /// It can still be called once for a transition that another thread hands on meanwhile.
    pub fn remove_transition_handler(&self, id: HandlerId) -> bool {
        self.core.handlers().remove(id)
    }
}

impl<K> fmt::Debug for Breaker<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Breaker").field("core", &self.core).finish_non_exhaustive()
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("label", &self.label)
            .field("count_cancelled", &self.count_cancelled)
            .finish_non_exhaustive()
    }
}

/// Completes when the circuit has another generation than when this was made.
pub(crate) struct NextTransition<'a> {
    core: Source<'a>,
    generation: u64,
    /// The key of its waker, after the first poll.
    key: Option<u64>,
}

impl<'a> NextTransition<'a> {
    pub(crate) fn new(core: Source<'a>) -> Self {
        NextTransition { generation: core.generation(), core, key: None }
    }
}

impl Future for NextTransition<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let NextTransition { core, generation, key } = &mut *self;
        core.waiters().park(key, context.waker(), || core.generation() != *generation)
    }
}

impl Drop for NextTransition<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.core.waiters().forget(key);
        }
    }
}
