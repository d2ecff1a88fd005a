//! Guards by key: a bulkhead and a circuit for each host, for example.

mod builder;
mod circuits;
mod shelf;

use std::fmt;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

use bulklink::partitions::{Lookup, RandomState};
use bulklink::runtime::Runtime;
use bulklink::{InvalidArgument, Partitions};

pub use self::builder::GuardsBuilder;
use self::circuits::Circuits;
pub(crate) use self::shelf::Standing;
use crate::breaker::RunLimit;
use crate::guard::{KeyRequest, Terms};
use crate::registry::Keyed;
use crate::{Breaker, BreakerStatus, ErrorsFail, GuardRequest, Health, Settings};

/// A [`Guard`](crate::Guard) for each key, such as an upstream host: a partition, a circuit and a
/// limit on the run.
///
/// A host that fails has its own circuit opened, and the others are not affected. All circuits have
/// the same settings and the same classifier.
///
/// Clones are cheap and share everything.
///
/// ```
/// use bulklink_breaker::{GuardError, Guards, Settings};
/// use bulklink_tokio::Partitions;
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let partitions = Partitions::<String>::builder("upstreams")
///     .parallelism(10)
///     .waiting_room(50)
///     .max_partitions(1_000)
///     .build()?;
/// let upstreams = Guards::builder(&partitions)
///     .settings(Settings::consecutive(2))
///     .run_limit(Duration::from_secs(2))
///     .build()?;
///
/// for _ in 0..2 {
///     let down = async { Err::<(), _>("connection refused") };
///     assert!(upstreams.key("a.example.com").execute(down).await.is_err());
/// }
/// let up = async || Ok::<_, std::io::Error>("found");
/// let refused = upstreams.key("a.example.com").execute(up()).await;
/// assert!(matches!(refused, Err(GuardError::Open(_))));
/// assert_eq!(upstreams.key("b.example.com").execute(up()).await?, "found");
/// # Ok(())
/// # }
/// ```
///
/// # How long a circuit lives
///
/// A circuit is made by the first call of its key, and lives on when its partition is evicted. At
/// most [`max_keys`](GuardsBuilder::max_keys) circuits are kept. Then one must go for a new key: of
/// the 32 that have been asked for the longest time ago,
///
/// 1. the first that is closed, without a failed or slow call in its window: nothing is lost with
///    it;
/// 2. else the first that is closed, or that has not been closed but was not called either, for
///    its whole cool-down and as long again.
///
/// A circuit stays while a call of it waits or runs, a request or a [`Breaker`] of it is held, it
/// is open, or it was opened by hand. If all 32 must stay, the request of a new key *has no circuit
/// of its key*: it has one of its own, which is closed, and dropped with it. It is not rejected.
/// Its bulkhead and run limit protect this process from its host, as without a breaker; and clients
/// that invent hosts cannot shut out others. They can take the place of circuits that are closed,
/// and while they keep so many open, leave new keys without one: see
/// [`without_circuit`](crate::KeysStatus::without_circuit).
///
/// A circuit takes some 5 KiB.
///
/// # Keys
///
/// Labels, errors and the status show the label of the partitions, and a key only if
/// [`show_keys`](GuardsBuilder::show_keys) is set.
///
/// For its circuit, a key is hashed, compared, cloned and dropped under no lock. If one of these
/// panics, the call panics, and nothing has changed. For its partition, see
/// [`Partitions`](Partitions#keys).
pub struct Guards<K, R, C = ErrorsFail, S = RandomState> {
    inner: Arc<Inner<K, R, C, S>>,
}

struct Inner<K, R, C, S> {
    partitions: Partitions<K, R, S>,
    circuits: Arc<Circuits<K>>,
    terms: Arc<Terms<R, C>>,
}

impl<K: Send + Sync, R: Runtime, C, S> Guards<K, R, C, S> {
    /// Returns the name: that of the partitions.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.inner.circuits.label
    }

    /// Returns the partitions, for their limits and their status.
    #[must_use]
    pub fn partitions(&self) -> &Partitions<K, R, S> {
        &self.inner.partitions
    }

    /// Returns how long an operation may run that begins now, if there is a limit: that of the
    /// [configuration](crate::BreakerConfig::run_limit), or else that of the builder.
    #[must_use]
    pub fn run_limit(&self) -> Option<Duration> {
        self.inner.terms.run_limit().map(RunLimit::duration)
    }

    /// Returns the settings of all circuits.
    #[must_use]
    pub fn settings(&self) -> Settings {
        self.inner.circuits.settings()
    }

    /// Changes the settings of all circuits, those that are kept and those to come, while calls
    /// run, as [`Breaker::reconfigure`]. Returns those before.
    ///
    /// This takes time in proportion to the number of circuits, during which no call begins.
    ///
    /// # Errors
    ///
    /// If a setting is impossible. Nothing changes then.
    pub fn reconfigure(&self, settings: Settings) -> Result<Settings, InvalidArgument> {
        settings.check().map_err(|invalid| invalid.of(format_args!("guards {}", self.label())))?;
        Ok(self.inner.circuits.set_settings(settings))
    }

    /// Returns the sums and the worst state of all circuits, as the status of one breaker, with
    /// [`keys`](BreakerStatus::keys). That of the bulkheads is the status of the
    /// [partitions](Guards::partitions).
    ///
    /// This takes time in proportion to the number of circuits, during which no call begins: with
    /// 1,000 of them, some hundred microseconds.
    #[must_use]
    pub fn status(&self) -> BreakerStatus {
        self.inner.circuits.status()
    }

    /// Returns the health of the dependency that does worst.
    #[must_use]
    pub fn health(&self) -> Health {
        self.status().health()
    }

    /// Closes all circuits, and forgets all outcomes. The counters stay.
    pub fn reset(&self) {
        self.inner.circuits.force_closed();
    }

    pub(crate) fn circuits(&self) -> Arc<dyn Keyed>
    where
        K: 'static,
    {
        Arc::<Circuits<K>>::clone(&self.inner.circuits)
    }

    pub(crate) fn terms(&self) -> &Arc<Terms<R, C>> {
        &self.inner.terms
    }
}

impl<K, R: Runtime, C, S: BuildHasher> Guards<K, R, C, S> {
    /// Binds a request to the guard of this key, with every way to make a call.
    ///
    /// It has entered the partition of the key, as by [`Partitions::key`], and keeps it and the
    /// circuit until it is dropped or its operation has ended.
    ///
    /// # Panics
    ///
    /// Where the clone of the runtime, or the hash, the comparison or the clone of a key panics.
    pub fn key<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> GuardRequest<'_, R, C> {
        GuardRequest::of_key(self.enter(key), &self.inner.terms)
    }

    pub(crate) fn enter<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> KeyRequest<R> {
        let breaker = Breaker::new(self.inner.circuits.enter(key), ErrorsFail);
        KeyRequest { breaker, request: self.inner.partitions.key(key) }
    }

    /// Returns the breaker of this key, if it has one: to look at its circuit, and to open and
    /// close it.
    ///
    /// This makes no circuit. The breaker keeps that of the key as long as it exists.
    #[must_use]
    pub fn breaker<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> Option<Breaker<C>>
    where
        C: Clone,
    {
        Some(Breaker::new(self.inner.circuits.get(key)?, self.inner.terms.classify.clone()))
    }
}

impl<K, R, C, S> Clone for Guards<K, R, C, S> {
    fn clone(&self) -> Self {
        Guards { inner: Arc::clone(&self.inner) }
    }
}

impl<K, R, C, S> fmt::Debug for Guards<K, R, C, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guards").field("label", &self.inner.circuits.label).finish_non_exhaustive()
    }
}
