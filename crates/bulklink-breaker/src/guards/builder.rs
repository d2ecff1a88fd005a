//! Building guards by key.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bulklink::config::ConfigError;
use bulklink::runtime::Runtime;
use bulklink::{InvalidArgument, Partitions};

use super::circuits::{Circuits, Make, Show};
use super::{Guards, Inner};
use crate::breaker::{Log, RunLimit};
use crate::circuit::{beside, number};
use crate::guard::Terms;
use crate::registry::BreakerRegistry;
use crate::{Breaker, ErrorsFail, Settings, Transition};

/// The settings of guards that are being built; returned by [`Guards::builder`].
#[must_use = "a builder does nothing unless built"]
pub struct GuardsBuilder<K, R, C, S> {
    partitions: Partitions<K, R, S>,
    settings: Option<Settings>,
    count_cancelled: Option<bool>,
    run_limit: Option<Duration>,
    max_keys: Option<usize>,
    show_keys: Option<Box<Show<K>>>,
    handler: Option<Arc<Handler>>,
    classify: C,
}

type Handler = dyn Fn(&Transition) + Send + Sync;

impl<K, R: Runtime, S> Guards<K, R, ErrorsFail, S> {
    /// Begins to build a guard for each key of these partitions.
    pub fn builder(partitions: &Partitions<K, R, S>) -> GuardsBuilder<K, R, ErrorsFail, S> {
        GuardsBuilder {
            partitions: partitions.clone(),
            settings: None,
            count_cancelled: None,
            run_limit: None,
            max_keys: None,
            show_keys: None,
            handler: None,
            classify: ErrorsFail,
        }
    }
}

impl<K, R: Runtime, C, S> GuardsBuilder<K, R, C, S> {
    /// Sets when a circuit opens and closes. If it is not set, five failures in a row open it for
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

    /// How long an operation may run; see
    /// [`GuardBuilder::run_limit`](crate::GuardBuilder::run_limit).
    pub fn run_limit(mut self, limit: Duration) -> Self {
        self.run_limit = Some(limit);
        self
    }

    /// How many keys can have a circuit at the same time; see [how long a circuit
    /// lives](Guards#how-long-a-circuit-lives). If it is not set, as many as can have a partition.
    ///
    /// Set it to more than the hosts that are really there, so that those that clients invent find
    /// room beside them.
    pub fn max_keys(mut self, max: usize) -> Self {
        self.max_keys = Some(max);
        self
    }

    /// Shows keys: `name` returns what of a key stands behind the label of the partitions, as in
    /// `upstreams/a.example.com`, in errors, transitions and [`worst`](crate::KeysStatus::worst).
    /// At most 100 characters are shown, and no control characters.
    ///
    /// Hosts can be shown; those that clients invent are seen too. Do not show a secret.
    ///
    /// ```
    /// use bulklink_breaker::Guards;
    /// use bulklink_tokio::Partitions;
    ///
    /// let partitions = Partitions::<String>::builder("upstreams").parallelism(10);
    /// let partitions = partitions.max_partitions(100).build()?;
    /// let upstreams = Guards::builder(&partitions).show_keys(String::clone).build()?;
    /// # let _request = upstreams.key("a.example.com");
    /// let breaker = upstreams.breaker("a.example.com").expect("it was asked for");
    /// breaker.force_open();
    /// let keys = upstreams.status().keys.expect("of guards by key");
    /// assert_eq!((keys.open, &*keys.worst[0].label), (1, "upstreams/a.example.com"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn show_keys(mut self, name: impl Fn(&K) -> String + Send + Sync + 'static) -> Self {
        self.show_keys = Some(Box::new(name));
        self
    }

    /// Calls `handler` at each transition of a circuit, as
    /// [`Breaker::add_transition_handler`]. Whose circuit it is stands in its label if
    /// [keys are shown](GuardsBuilder::show_keys).
    pub fn on_transition(mut self, handler: impl Fn(&Transition) + Send + Sync + 'static) -> Self {
        self.handler = Some(Arc::new(handler));
        self
    }

    /// Sets which results are failures of the dependency. If it is not set, each error is one.
    pub fn classify<D>(self, classify: D) -> GuardsBuilder<K, R, D, S> {
        GuardsBuilder {
            partitions: self.partitions,
            settings: self.settings,
            count_cancelled: self.count_cancelled,
            run_limit: self.run_limit,
            max_keys: self.max_keys,
            show_keys: self.show_keys,
            handler: self.handler,
            classify,
        }
    }

    /// Builds the guards, without a circuit yet.
    ///
    /// # Errors
    ///
    /// If a setting is impossible.
    pub fn build(self) -> Result<Guards<K, R, C, S>, InvalidArgument> {
        let GuardsBuilder { partitions, settings, count_cancelled, run_limit, handler, classify, .. } = self;
        let label: Arc<str> = partitions.label().into();
        let (settings, count_cancelled) = (settings.unwrap_or_default(), count_cancelled.unwrap_or_default());
        let max = self.max_keys.unwrap_or_else(|| partitions.status().limits.max_partitions);
        let own_limit =
            check(settings, run_limit, max).map_err(|invalid| invalid.of(format_args!("guards {label}")))?;
        let runtime = partitions.runtime().clone();
        let (clock, log) = (runtime.clone(), Log::default());
        let make: Box<Make> = Box::new(move |label, settings| {
            let builder = Breaker::builder_on(clock.clone(), label).settings(settings).log(&log);
            let built = builder.count_cancelled(count_cancelled).build();
            let breaker = built.unwrap_or_else(|_| unreachable!("the settings were checked"));
            if let Some(handler) = &handler {
                let handler = Arc::clone(handler);
                breaker.add_transition_handler(move |transition| handler(transition));
            }
            Arc::clone(breaker.core())
        });
        let clock = runtime.clone();
        let now = Box::new(move || clock.now());
        let circuits = Arc::new(Circuits::new(label, count_cancelled, (settings, max), (make, now), self.show_keys));
        let live_limit = Arc::clone(&circuits.run_limit);
        let terms = Arc::new(Terms { runtime, classify, live_limit, own_limit });
        Ok(Guards { inner: Arc::new(Inner { partitions, circuits, terms }) })
    }
}

impl<K, R, C, S> GuardsBuilder<K, R, C, S>
where
    K: Send + Sync + 'static,
    R: Runtime,
    C: Send + Sync + 'static,
    S: Send + Sync + 'static,
{
    /// Builds the guards with the settings of the breaker that has the label of their partitions in
    /// this registry, by a [configuration](BreakerRegistry::apply), and
    /// [adds](BreakerRegistry::add_guards) them in place of that.
    ///
    /// Set neither [`settings`](GuardsBuilder::settings) nor
    /// [`count_cancelled`](GuardsBuilder::count_cancelled); the [run
    /// limit](crate::BreakerConfig::run_limit) of a configuration goes before that of this builder.
    ///
    /// # Errors
    ///
    /// If no configuration has added a breaker of this label, if something uses it, or if a setting
    /// is impossible. Nothing was added then. The error names the section, and one that may be a
    /// misspelling of it.
    ///
    /// ```
    /// use bulklink_breaker::{BreakerConfig, BreakerRegistry, Guards, Settings};
    /// use bulklink_tokio::{Partitions, Tokio};
    /// use std::collections::BTreeMap;
    ///
    /// let mut sections: BTreeMap<String, BreakerConfig> = BTreeMap::new();
    /// sections.entry("upstreams".into()).or_default().failures = Some(3);
    /// let circuits = BreakerRegistry::new();
    /// circuits.apply(&sections, &Tokio)?;
    ///
    /// let partitions = Partitions::<String>::builder("upstreams").parallelism(10);
    /// let partitions = partitions.max_partitions(100).build()?;
    /// let upstreams = Guards::builder(&partitions).build_in(&circuits)?;
    /// assert_eq!(upstreams.settings(), Settings::consecutive(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn build_in(self, registry: &BreakerRegistry) -> Result<Guards<K, R, C, S>, ConfigError> {
        let label: Arc<str> = self.partitions.label().into();
        registry.build_guards(&label, |breaker| match (self.settings, self.count_cancelled) {
            (Some(_), _) => Err(beside("settings", "build_in")),
            (_, Some(_)) => Err(beside("count_cancelled", "build_in")),
            (None, None) => {
                let counted = breaker.core().config.count_cancelled;
                self.settings(breaker.settings()).count_cancelled(counted).build()
            }
        })
    }
}

fn check(settings: Settings, run_limit: Option<Duration>, max: usize) -> Result<Option<RunLimit>, InvalidArgument> {
    settings.check()?;
    let own_limit = RunLimit::checked(run_limit)?;
    number("max_keys", u32::try_from(max).unwrap_or(u32::MAX), 1..=u32::MAX)?;
    Ok(own_limit)
}

impl<K, R, C, S> fmt::Debug for GuardsBuilder<K, R, C, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardsBuilder")
            .field("settings", &self.settings)
            .field("count_cancelled", &self.count_cancelled)
            .field("run_limit", &self.run_limit)
            .field("max_keys", &self.max_keys)
            .finish_non_exhaustive()
    }
}
