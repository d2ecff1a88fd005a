//! Building a breaker.

use std::fmt;
use std::sync::Arc;

use bulklink::InvalidArgument;
use bulklink::runtime::Clock;

use super::{Breaker, Config, Core, Log};
use crate::circuit::Circuit;
use crate::{ErrorsFail, Settings};

/// The settings of a breaker that is being built; returned by [`Breaker::builder_on`].
#[must_use = "a builder does nothing unless built"]
pub struct BreakerBuilder<K = ErrorsFail> {
    settings: Settings,
    config: Config,
    classify: K,
}

impl Breaker {
    /// Begins to build a breaker on a clock, such as that of a runtime.
    pub fn builder_on(clock: impl Clock + Send + Sync + 'static, label: &str) -> BreakerBuilder {
        let now = Box::new(move || clock.now());
        let config = Config { label: label.into(), count_cancelled: false, log: Log::default(), now };
        BreakerBuilder { settings: Settings::default(), config, classify: ErrorsFail }
    }
}

impl<K> BreakerBuilder<K> {
    /// Sets when the circuit opens and closes. If it is not set, five failures in a row open it for
    /// 30 s.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets whether a call that is dropped before it has ended has failed.
    ///
    /// If it is not set, such a call counts for neither side, unless it was slow already. Set it
    /// where calls are dropped because they took too long, such as by a timeout around them; not
    /// where they are dropped because a client has gone.
    pub fn count_cancelled(mut self, counted: bool) -> Self {
        self.config.count_cancelled = counted;
        self
    }

    /// Sets which results are failures of the dependency. If it is not set, each error is one.
    ///
    /// ```
    /// use bulklink::StdClock;
    /// use bulklink_breaker::{Breaker, Outcome};
    ///
    /// let by_kind = |result: &Result<(), &str>| match result {
    ///     Err("timeout") => Outcome::Failure,
    ///     Err(_) => Outcome::Ignore,
    ///     Ok(()) => Outcome::Success,
    /// };
    /// let mail = Breaker::builder_on(StdClock, "mail").classify(by_kind).build()?;
    /// for _ in 0..10 {
    ///     assert!(mail.blocking_execute(|| Err("no such mailbox")).is_err());
    /// }
    /// assert!(mail.health().is_healthy());
    /// # Ok::<(), bulklink::InvalidArgument>(())
    /// ```
    pub fn classify<C>(self, classify: C) -> BreakerBuilder<C> {
        BreakerBuilder { settings: self.settings, config: self.config, classify }
    }

    /// The limit on the log is that of others, too.
    pub(crate) fn log(mut self, log: &Log) -> Self {
        self.config.log = log.clone();
        self
    }

    pub(crate) fn label(&self) -> &str {
        &self.config.label
    }

    pub(crate) fn into_parts(self) -> Result<(Core, K), InvalidArgument> {
        let owned = |invalid: InvalidArgument| invalid.of(format_args!("breaker {}", self.config.label));
        let circuit = Circuit::new(self.settings).map_err(owned)?;
        Ok((Core::new(self.config, circuit), self.classify))
    }

    /// Builds the breaker, with a closed circuit.
    ///
    /// # Errors
    ///
    /// If a setting is impossible.
    pub fn build(self) -> Result<Breaker<K>, InvalidArgument> {
        let (core, classify) = self.into_parts()?;
        Ok(Breaker::new(Arc::new(core), classify))
    }
}

impl<K> fmt::Debug for BreakerBuilder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BreakerBuilder")
            .field("settings", &self.settings)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
