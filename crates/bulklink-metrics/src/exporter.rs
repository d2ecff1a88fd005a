//! The exporter: which bulkheads, breakers and shares it exports, and the walk over them.

use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bulklink::config::FileStatus;
use bulklink::{Figures, Handle, Registry, partitions};

use crate::label;
use crate::walk::{self, Visit};

/// Exports the figures of bulkheads and partitions, with the feature `breaker` of circuit breakers,
/// and with the feature `fleet` of shares of a fleet's limits.
///
/// It *pulls*: it reads each bulkhead when it is asked to, and adds no event handler. So an
/// exported bulkhead costs a call nothing more, and gauges cannot drift from the truth.
///
/// Cheap to clone; clones share everything. It keeps its members alive, as a clone of the
/// registry or the handle does.
///
/// A registry is exported with all bulkheads and partitions that it has at the time of each
/// reading: those created later appear, and those removed are forgotten. If two members have the
/// same label, as a bulkhead that is in two registries, the first is exported, in the order in
/// which they were added here. The metric `bulklink_left_out` counts the others.
///
/// ```
/// # #[cfg(feature = "text")]
/// # {
/// use bulklink_metrics::{Exporter, Format};
/// use bulklink_tokio::{Bulkhead, Registry};
///
/// let registry = Registry::new();
/// let exporter = Exporter::new(&registry);
/// let payments = registry.create(Bulkhead::builder("payments").parallelism(10))?;
/// let _slot = payments.try_slot()?;
///
/// let text = exporter.render(Format::Prometheus);
/// assert!(text.contains("bulklink_in_use{bulkhead=\"payments\",kind=\"bulkhead\"} 1\n"));
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Exporter {
    pub(crate) shared: Arc<Shared>,
}

#[derive(Default)]
pub(crate) struct Shared {
    sources: Mutex<Vec<Source>>,
    /// The state of a walk. Two walks take turns.
    walker: Mutex<Walker>,
    #[cfg(feature = "text")]
    pub(crate) text: Mutex<crate::text::Families>,
    #[cfg(feature = "text")]
    pub(crate) own_texts: Mutex<Vec<crate::text::OwnText>>,
    /// The names of the counters among them.
    #[cfg(feature = "text")]
    pub(crate) own_counters: Mutex<std::collections::BTreeSet<String>>,
    #[cfg(feature = "metrics")]
    pub(crate) recorded: Mutex<crate::facade::Recorded>,
}

#[derive(Clone)]
enum Source {
    Registry(Registry),
    Bulkhead(Handle),
    Partitions(partitions::Handle),
    #[cfg(feature = "breaker")]
    Breakers(bulklink_breaker::BreakerRegistry),
    #[cfg(feature = "breaker")]
    Breaker(bulklink_breaker::Breaker),
    #[cfg(feature = "fleet")]
    Fleet(crate::shares::Shares),
}

/// The memory of a walk, which is reused.
#[derive(Default)]
struct Walker {
    figures: Figures,
    partition_figures: partitions::Figures,
    /// Hashes of the labels that the walk has seen, with a key of its own, so that no choice of
    /// labels makes two of them equal.
    seen: HashSet<u64>,
    hasher: RandomState,
}

impl Exporter {
    /// Creates an exporter of a registry.
    #[must_use]
    pub fn new(registry: &Registry) -> Self {
        Exporter::default().registry(registry)
    }

    /// Exports another registry too.
    #[must_use]
    pub fn registry(self, registry: &Registry) -> Self {
        self.with(Source::Registry(registry.clone()))
    }

    /// Exports a bulkhead that is in no registry.
    ///
    /// ```
    /// use bulklink_metrics::Exporter;
    /// use bulklink_tokio::Bulkhead;
    ///
    /// let payments = Bulkhead::builder("payments").parallelism(10).build()?;
    /// let exporter = Exporter::default();
    /// exporter.add(&payments);
    /// assert!(exporter.remove("payments"));
    /// # Ok::<(), bulklink_tokio::InvalidArgument>(())
    /// ```
    pub fn add(&self, bulkhead: &impl AsRef<Handle>) {
        self.add_source(Source::Bulkhead(bulkhead.as_ref().clone()));
    }

    /// Exports partitions that are in no registry, by their
    /// [handle](bulklink::Partitions::handle).
    pub fn add_partitions(&self, partitions: &partitions::Handle) {
        self.add_source(Source::Partitions(partitions.clone()));
    }

    /// Exports the circuit breakers of a registry of guards and breakers: those that it has at the
    /// time of each reading. The bulkheads of the guards are not among them; see
    /// [`new`](Exporter::new) and [`add`](Exporter::add).
    ///
    /// ```
    /// use bulklink_breaker::{Breaker, BreakerRegistry};
    /// # #[cfg(feature = "text")]
    /// # {
    /// use bulklink_metrics::{Exporter, Format};
    ///
    /// let breakers = BreakerRegistry::new();
    /// let exporter = Exporter::default().breakers(&breakers);
    /// let payments = Breaker::builder_on(bulklink::StdClock, "payments").build()?;
    /// breakers.add_breaker(&payments)?;
    /// payments.force_open();
    ///
    /// let text = exporter.render(Format::Prometheus);
    /// assert!(text.contains("kind=\"breaker\",state=\"open\"} 1\n"));
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "breaker")]
    #[must_use]
    pub fn breakers(self, registry: &bulklink_breaker::BreakerRegistry) -> Self {
        self.with(Source::Breakers(registry.clone()))
    }

    /// Exports a circuit breaker that is in no registry.
    #[cfg(feature = "breaker")]
    pub fn add_breaker<K>(&self, breaker: &bulklink_breaker::Breaker<K>) {
        self.add_source(Source::Breaker(breaker.classified(bulklink_breaker::ErrorsFail)));
    }

    /// Exports the shares of this process in the limits of a fleet: those of bulkheads that it has
    /// at the time of each reading, and none of a key of partitions. It keeps the fleet, as a clone
    /// does.
    ///
    /// ```
    /// # #[cfg(feature = "text")]
    /// # {
    /// use bulklink_fleet::{Fleet, MemoryStore};
    /// use bulklink_metrics::{Exporter, Format};
    /// use bulklink_tokio::{Bulkhead, Tokio};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let fleet = Fleet::builder(MemoryStore::new(Tokio), Tokio).namespace("prod").build()?;
    /// let exporter = Exporter::default().fleet(&fleet);
    /// let payments = Bulkhead::builder("payments").parallelism(8).waiting_room(9).build()?;
    /// fleet.share(&payments).limit(20).connect().await?;
    ///
    /// let text = exporter.render(Format::Prometheus);
    /// let limit = "bulklink_share_limit{bulkhead=\"payments\",kind=\"share\"} 20\n";
    /// assert!(text.contains(limit));
    /// # Ok(())
    /// # }
    /// # }
    /// ```
    #[cfg(feature = "fleet")]
    #[must_use]
    pub fn fleet<R>(self, fleet: &bulklink_fleet::Fleet<R>) -> Self
    where
        R: bulklink::runtime::Clock + Clone + Send + Sync + 'static,
    {
        self.with(Source::Fleet(crate::shares::Shares::of(fleet)))
    }

    /// Forgets the bulkheads, partitions and breakers with this label (trimmed) that were added one
    /// by one. Returns whether there were any. Those of a registry stay until they leave the
    /// registry.
    pub fn remove(&self, label: &str) -> bool {
        let label = label.trim();
        let mut sources = lock(&self.shared.sources);
        let (gone, kept) = sources.drain(..).partition(|source| match source {
            Source::Registry(_) => false,
            Source::Bulkhead(bulkhead) => bulkhead.label() == label,
            Source::Partitions(partitions) => partitions.label() == label,
            #[cfg(feature = "breaker")]
            Source::Breakers(_) => false,
            #[cfg(feature = "breaker")]
            Source::Breaker(breaker) => breaker.label().trim() == label,
            #[cfg(feature = "fleet")]
            Source::Fleet(_) => false,
        });
        *sources = kept;
        drop(sources);
        // Dropped outside the lock: runtimes and keys are foreign.
        let gone: Vec<Source> = gone;
        !gone.is_empty()
    }

    fn with(self, source: Source) -> Self {
        self.add_source(source);
        self
    }

    fn add_source(&self, source: Source) {
        lock(&self.shared.sources).push(source);
    }

    /// Visits all members, each label of a kind once. Returns how many were left out.
    pub(crate) fn walk(&self, visit: &mut impl Visit) -> u64 {
        let sources = lock(&self.shared.sources).clone();
        let walker = &mut *lock(&self.shared.walker);
        walker.seen.clear();
        let mut left_out = 0;
        for source in sources {
            left_out += match source {
                Source::Registry(registry) => {
                    let bulkheads: u64 =
                        registry.handles().iter().map(|bulkhead| walker.bulkhead(bulkhead, visit)).sum();
                    let sets = registry.partition_handles();
                    let file = registry.file_status().map_or(0, |file| walker.file(&file, visit));
                    file + bulkheads + sets.iter().map(|partitions| walker.partitions(partitions, visit)).sum::<u64>()
                }
                Source::Bulkhead(bulkhead) => walker.bulkhead(&bulkhead, visit),
                Source::Partitions(partitions) => walker.partitions(&partitions, visit),
                #[cfg(feature = "breaker")]
                Source::Breakers(registry) => {
                    registry.breaker_status().iter().map(|breaker| walker.breaker(breaker, visit)).sum()
                }
                #[cfg(feature = "breaker")]
                Source::Breaker(breaker) => walker.breaker(&breaker.status(), visit),
                #[cfg(feature = "fleet")]
                Source::Fleet(shares) => shares.read().iter().map(|share| walker.share(share, visit)).sum(),
            };
        }
        left_out
    }
}

impl Walker {
    /// Returns 1 if the file of settings is left out, else 0. One that several registries follow
    /// together is one.
    fn file(&mut self, file: &FileStatus, visit: &mut impl Visit) -> u64 {
        let label = label::exported(&file.path);
        if !self.seen.insert(self.hasher.hash_one(("settings", &*label, file.instance))) {
            return 0;
        }
        let is_new = self.is_new("settings", &label);
        if is_new {
            walk::file(file, &label, visit);
        }
        u64::from(!is_new)
    }

    /// Returns 1 if the bulkhead is left out, else 0.
    fn bulkhead(&mut self, bulkhead: &Handle, visit: &mut impl Visit) -> u64 {
        let label = label::exported(bulkhead.label());
        let is_new = self.is_new("bulkhead", &label);
        if is_new {
            walk::bulkhead(bulkhead, &label, &mut self.figures, visit);
        }
        u64::from(!is_new)
    }

    /// Returns 1 if the partitions are left out, else 0.
    fn partitions(&mut self, partitions: &partitions::Handle, visit: &mut impl Visit) -> u64 {
        let label = label::exported(partitions.label());
        let is_new = self.is_new("partitions", &label);
        if is_new {
            walk::partitions(partitions, &label, &mut self.partition_figures, visit);
        }
        u64::from(!is_new)
    }

    /// Returns 1 if the breaker is left out, else 0.
    #[cfg(feature = "breaker")]
    fn breaker(&mut self, status: &bulklink_breaker::BreakerStatus, visit: &mut impl Visit) -> u64 {
        let label = label::exported(&status.label);
        let is_new = self.is_new("breaker", &label);
        if is_new {
            walk::breaker(status, &label, visit);
        }
        u64::from(!is_new)
    }

    /// Returns 1 if the share is left out, else 0.
    #[cfg(feature = "fleet")]
    fn share(&mut self, share: &crate::shares::Share, visit: &mut impl Visit) -> u64 {
        let label = label::exported(&share.label);
        let is_new = self.is_new("share", &label);
        if is_new {
            walk::share(share, &label, visit);
        }
        u64::from(!is_new)
    }

    fn is_new(&mut self, kind: &str, label: &str) -> bool {
        self.seen.insert(self.hasher.hash_one((kind, label)))
    }
}

/// Locks, also after a panic of foreign code, such as a recorder: every use begins anew.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows the labels of members that were added by handle, and the registries.
impl fmt::Debug for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sources = lock(&self.shared.sources).clone();
        f.debug_list().entries(sources).finish()
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Registry(registry) => registry.fmt(f),
            Source::Bulkhead(bulkhead) => bulkhead.fmt(f),
            Source::Partitions(partitions) => partitions.fmt(f),
            #[cfg(feature = "breaker")]
            Source::Breakers(registry) => registry.fmt(f),
            #[cfg(feature = "breaker")]
            Source::Breaker(breaker) => breaker.fmt(f),
            #[cfg(feature = "fleet")]
            Source::Fleet(shares) => shares.fmt(f),
        }
    }
}
