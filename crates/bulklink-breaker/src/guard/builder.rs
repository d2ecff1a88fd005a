//! Building a guard, and the ceiling of its bulkhead while the circuit is not closed.

use std::sync::Arc;
use std::time::Duration;

use bulklink::config::ConfigError;
use bulklink::runtime::Clock;
use bulklink::{Bulkhead, Handle, InvalidArgument};

use super::{ErrorsFail, Guard};
use crate::breaker::RunLimit;
use crate::circuit::{beside, number};
use crate::registry::BreakerRegistry;
use crate::{Breaker, Settings, State};

/// The settings of a guard that is being built; returned by [`Guard::builder`].
#[derive(Debug)]
#[must_use = "a builder does nothing unless built"]
pub struct GuardBuilder<R, K = ErrorsFail> {
    bulkhead: Bulkhead<R>,
    breaker: Option<Breaker>,
    settings: Option<Settings>,
    count_cancelled: Option<bool>,
    run_limit: Option<Duration>,
    half_open_capacity: Option<usize>,
    classify: K,
    is_classified: bool,
}

impl<R: Clock + Clone + Send + Sync + 'static> Guard<R> {
    /// Begins to build a guard around a bulkhead.
    pub fn builder(bulkhead: &Bulkhead<R>) -> GuardBuilder<R> {
        GuardBuilder {
            bulkhead: bulkhead.clone(),
            breaker: None,
            settings: None,
            count_cancelled: None,
            run_limit: None,
            half_open_capacity: None,
            classify: ErrorsFail,
            is_classified: false,
        }
    }
}

impl<R: Clock + Clone + Send + Sync + 'static, K> GuardBuilder<R, K> {
    /// Sets when the circuit opens and closes. If it is not set, five failures in a row open it for
    /// 30 s.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = Some(settings);
        self
    }

    /// Sets whether a call that is dropped before it has ended has failed; see
    /// [`BreakerBuilder::count_cancelled`](crate::BreakerBuilder::count_cancelled).
    pub fn count_cancelled(mut self, counted: bool) -> Self {
        self.count_cancelled = Some(counted);
        self
    }

    /// Uses this breaker instead of a new one, with its own settings and classifier. Set neither
    /// [`settings`](GuardBuilder::settings) nor [`count_cancelled`](GuardBuilder::count_cancelled)
    /// beside it, and [`classify`](GuardBuilder::classify) only after it.
    pub fn breaker<C: Clone>(self, breaker: &Breaker<C>) -> GuardBuilder<R, C> {
        let shared = breaker.classified(ErrorsFail);
        GuardBuilder { breaker: Some(shared), ..self.with_classifier(breaker.classifier().clone()) }
    }

    /// Sets how long an operation may run. If it is not set, there is no limit. The wait for a slot
    /// is not part of it; that has the limit of the bulkhead.
    pub fn run_limit(mut self, limit: Duration) -> Self {
        self.run_limit = Some(limit);
        self
    }

    /// The most units of the bulkhead that may be in use from when the circuit opens until it is
    /// closed, or until the breaker is dropped with its last guard. If it is not set, the whole
    /// capacity may be.
    ///
    /// So no probe is let through while more operations of before still run. A call that costs more
    /// is admitted only while no other runs. It is a [ceiling](bulklink::Ceiling) named
    /// `half-open`: the capacity itself stays, changes of it take effect meanwhile, and the least
    /// counts of several guards on one bulkhead. Calls that go to the bulkhead without the guard
    /// are bound by it too.
    pub fn half_open_capacity(mut self, capacity: usize) -> Self {
        self.half_open_capacity = Some(capacity);
        self
    }

    /// Sets which results are failures of the dependency. If it is not set, each error is one.
    /// After [`breaker`](GuardBuilder::breaker), it is for the calls of this guard alone, in place
    /// of the breaker's own.
    ///
    /// A closure needs the type of its argument; to store the guard, use a [type](crate::Classify)
    /// that has a name.
    ///
    /// ```
    /// use bulklink_breaker::{Guard, Outcome};
    /// use bulklink_tokio::Bulkhead;
    /// use std::io::{self, ErrorKind};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bulkhead = Bulkhead::builder("files").parallelism(4).build()?;
    /// let files = Guard::builder(&bulkhead)
    ///     .classify(|result: &io::Result<String>| match result {
    ///         Err(error) if error.kind() != ErrorKind::NotFound => Outcome::Failure,
    ///         _ => Outcome::Success,
    ///     })
    ///     .build()?;
    /// let missing = files.execute(tokio::fs::read_to_string("none")).await;
    /// # assert!(missing.is_err());
    /// assert_eq!(files.breaker().status().totals.successes, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn classify<C>(self, classify: C) -> GuardBuilder<R, C> {
        // Before a breaker: its own would replace this one.
        let is_classified = self.breaker.is_none();
        GuardBuilder { is_classified, ..self.with_classifier(classify) }
    }

    fn with_classifier<C>(self, classify: C) -> GuardBuilder<R, C> {
        GuardBuilder {
            bulkhead: self.bulkhead,
            breaker: self.breaker,
            settings: self.settings,
            count_cancelled: self.count_cancelled,
            run_limit: self.run_limit,
            half_open_capacity: self.half_open_capacity,
            classify,
            is_classified: self.is_classified,
        }
    }

    /// Builds the guard.
    ///
    /// # Errors
    ///
    /// If a setting is impossible, or is that of a breaker that was passed.
    pub fn build(self) -> Result<Guard<R, K>, InvalidArgument> {
        let own_limit = RunLimit::checked(self.run_limit)?;
        if let Some(capacity) = self.half_open_capacity {
            let most = u32::try_from(self.bulkhead.limits().capacity).unwrap_or(u32::MAX);
            number("half_open_capacity", u32::try_from(capacity).unwrap_or(u32::MAX), 1..=most)?;
        }
        let breaker = match (self.breaker, self.settings, self.count_cancelled) {
            (Some(_), ..) if self.is_classified => {
                return Err(InvalidArgument::new("classify", "it before", "must be set after breaker"));
            }
            (Some(breaker), None, None) => breaker,
            (Some(_), Some(_), _) => return Err(beside("settings", "breaker")),
            (Some(_), _, Some(_)) => return Err(beside("count_cancelled", "breaker")),
            (None, settings, counted) => Breaker::builder_on(self.bulkhead.runtime().clone(), self.bulkhead.label())
                .settings(settings.unwrap_or_default())
                .count_cancelled(counted.unwrap_or_default())
                .build()?,
        };
        if let Some(capacity) = self.half_open_capacity {
            restrict(&breaker, self.bulkhead.handle(), capacity);
        }
        let breaker = breaker.classified(self.classify);
        Ok(Guard { bulkhead: self.bulkhead, breaker, own_limit })
    }
}

impl<R, K> GuardBuilder<R, K>
where
    R: Clock + Clone + Send + Sync + 'static,
    K: Clone + Send + Sync + 'static,
{
    /// Builds the guard around the breaker that has the label of its bulkhead in this registry,
    /// such as by a [configuration](BreakerRegistry::apply), and [adds](BreakerRegistry::add) it in
    /// place of that.
    ///
    /// Set neither [`settings`](GuardBuilder::settings) nor
    /// [`count_cancelled`](GuardBuilder::count_cancelled) nor [`breaker`](GuardBuilder::breaker);
    /// the [run limit](crate::BreakerConfig::run_limit) of a configuration goes before that of this
    /// builder.
    ///
    /// # Errors
    ///
    /// If the registry has no breaker of this label, if a guard has it, or if a setting is
    /// impossible. Nothing was added then. The error names the section, and one that may be a
    /// misspelling of it.
    ///
    /// ```
    /// use bulklink_breaker::{BreakerConfig, BreakerRegistry, Guard};
    /// use bulklink_tokio::{Bulkhead, Tokio};
    /// use std::{collections::BTreeMap, time::Duration};
    ///
    /// // Such as a field `breakers` of the program's own settings, read by serde.
    /// let mut sections: BTreeMap<String, BreakerConfig> = BTreeMap::new();
    /// let search = sections.entry("search".into()).or_default();
    /// search.run_limit = Some(Duration::from_secs(5));
    /// let circuits = BreakerRegistry::new();
    /// circuits.apply(&sections, &Tokio)?;
    ///
    /// let misspelt = Bulkhead::builder("serach").parallelism(10).build()?;
    /// let refused = Guard::builder(&misspelt).build_in(&circuits).unwrap_err();
    /// let text = "breakers.serach must be there \
    ///             (is it breakers.search, which is not required?)";
    /// assert_eq!(refused.to_string(), text);
    ///
    /// let search = Bulkhead::builder("search").parallelism(10).build()?;
    /// let guard = Guard::builder(&search).build_in(&circuits)?;
    /// assert_eq!(guard.run_limit(), Some(Duration::from_secs(5)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn build_in(self, registry: &BreakerRegistry) -> Result<Guard<R, K>, ConfigError> {
        let label: Arc<str> = self.bulkhead.label().into();
        registry.build_guard(&label, |breaker| {
            if self.breaker.is_some() {
                return Err(beside("breaker", "build_in"));
            }
            GuardBuilder { breaker: Some(breaker), is_classified: false, ..self }.build()
        })
    }
}

/// Restricts the bulkhead while the circuit is not closed.
fn restrict(breaker: &Breaker, bulkhead: &Handle, units: usize) {
    let ceiling = bulkhead.ceiling("half-open");
    let ceiling = Arc::new(move |state: State| match state {
        State::Closed => ceiling.lift(),
        _ => ceiling.set_or_one_call(units),
    });
    let handler = Arc::clone(&ceiling);
    breaker.add_transition_handler(move |transition| _ = handler(transition.to));
    // For a circuit that is open already. A transition between the reading and the setting has
    // reached the handler before, and is seen by the next reading.
    let mut applied = None;
    while applied != Some(breaker.status().circuit.state) {
        let state = breaker.status().circuit.state;
        ceiling(state);
        applied = Some(state);
    }
}
