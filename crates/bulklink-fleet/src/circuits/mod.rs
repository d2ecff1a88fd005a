//! Circuits of `bulklink-breaker` that processes share through a store.
//!
//! [`Circuits`] shares breakers through a [`CircuitStore`], which keeps one row for each [`Name`].

mod driver;
/// For the crates of stores. It may change in any release.
#[doc(hidden)]
pub mod encoding;
mod member;
/// For the crates of stores. It may change in any release.
#[doc(hidden)]
pub mod numbers;
/// A circuit as a store keeps it, for the crates of stores. It may change in any release.
#[doc(hidden)]
pub mod record;
/// The knowledge of a process about a shared circuit. For tests: it may change in any release.
#[doc(hidden)]
pub mod replica;
mod signal;
mod store;

use std::fmt;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use bulklink::InvalidArgument;
use bulklink::runtime::{Runtime, Spawn, SpawnError};
use bulklink_breaker::{Breaker, BreakerBuilder, plumbing};
use thiserror::Error;

use self::driver::Hub;
use self::member::{Member, WeakSeat};
use self::replica::{Pace, Replica};
use self::signal::{Keep, Needs};
pub use self::store::{
    Asked, Change, Changes, CircuitStore, Effect, Force, Forced, Operation, Refused, Reply, Report, Reported, Row,
};
use crate::fleet::build;
use crate::trouble::Trouble;
use crate::{Name, Namespace, StoreError};

/// How a process uses the store.
#[derive(Clone, Copy, Debug)]
struct Options {
    pace: Pace,
    store_timeout: Duration,
    retry: Duration,
}

/// The circuits of a process that it shares with others, in one namespace of a store.
///
/// One task of the process carries outcomes to the store and takes over what others have caused. A
/// call of a closed circuit never waits for it. While the store is out of reach, each circuit goes
/// by the calls of this process alone: it opens, cools down and sends probes by itself.
///
/// ```
/// use bulklink_breaker::{Breaker, Settings};
/// use bulklink_fleet::MemoryStore;
/// use bulklink_fleet::circuits::Circuits;
/// use bulklink_tokio::Tokio;
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // For tests. Services use that of `bulklink-redis` or `bulklink-postgres`.
/// let store = MemoryStore::new(Tokio);
/// let circuits = Circuits::builder(store, Tokio).namespace("prod").build()?;
///
/// let settings = Settings::of_last(50).failures(25).cool_down(Duration::from_secs(30));
/// let payments = Breaker::builder_on(Tokio, "payments").settings(settings);
/// let payments = circuits.share(payments)?;
/// payments.execute(async { Ok::<_, std::io::Error>("paid") }).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Guarantees, and their limits
///
/// - The store lets through as many probes as the settings allow, of all processes together.
/// - It counts each outcome at most once. One that is being sent when the connection ends may be
///   lost.
/// - Outcomes from while the store is out of reach are not reported once they are older than a
///   second, except those that have opened the circuit, until its cool-down is over.
/// - A process that loses the store sends its own probes, as many as the settings allow, those that
///   the store let through before among them.
/// - Commands of one circuit go one after the other, and those of up to 16 circuits at the same
///   time, as far as the store allows it: on PostgreSQL, those of a process go one after the other.
///   Further ones wait for their turn.
/// - A command without an answer within [`store_timeout`](CircuitsBuilder::store_timeout) takes the
///   store from its circuit alone, until a second circuit has no answer either and no other has had
///   one meanwhile.
/// - The task ends after the last handle and the last breaker are dropped. It sends their last
///   outcomes, if its runtime still runs.
/// - A window counts in the order in which reports arrive. Each has the calls of one process since
///   its last one, which is [`flush`](CircuitsBuilder::flush) old at most.
pub struct Circuits<S> {
    hub: Arc<Hub<S>>,
    keep: Arc<Keep>,
}

/// The settings of shared circuits that are being built; returned by [`Circuits::builder`].
#[must_use = "a builder does nothing unless built"]
pub struct CircuitsBuilder<S, R> {
    store: S,
    runtime: R,
    namespace: Option<String>,
    options: Options,
}

impl<S: CircuitStore> Circuits<S> {
    /// Begins to build shared circuits on a store.
    pub fn builder<R: Runtime<Sleep: Send> + Spawn>(store: S, runtime: R) -> CircuitsBuilder<S, R> {
        let options = Options {
            pace: Pace { flush: Duration::from_millis(100), refresh: Duration::from_secs(5) },
            store_timeout: Duration::from_millis(500),
            retry: Duration::from_secs(1),
        };
        CircuitsBuilder { store, runtime, namespace: None, options }
    }

    /// Builds a breaker with a circuit that is shared under its label. It works immediately, by the
    /// calls of this process alone until the store has answered.
    ///
    /// # Errors
    ///
    /// If a setting is impossible, or the label cannot be a name on the store. Several breakers may
    /// share one label: each is as one of another process.
    pub fn share<K>(&self, breaker: BreakerBuilder<K>) -> Result<Breaker<K>, ShareError> {
        let name = Name::labelled(&self.hub.namespace, plumbing::label(&breaker)).map_err(ShareError::Invalid)?;
        let mut member = Weak::new();
        let breaker = plumbing::build(breaker, |id, settings, now| {
            let replica = Replica::new(settings, self.hub.options.pace, now);
            let peer = Arc::new(Member::new(id, name.clone(), replica, settings, Arc::clone(&self.keep)));
            member = Arc::downgrade(&peer);
            peer
        });
        let breaker = breaker.map_err(ShareError::Invalid)?;
        let id = plumbing::instance(&breaker);
        self.hub.lock().insert(id, WeakSeat { name, breaker: plumbing::downgrade(&breaker), member });
        self.hub.needs.signal.notify_of(id);
        Ok(breaker)
    }

    /// Returns the state of a breaker's connection to the store. `None` if the breaker is not of
    /// these circuits.
    #[must_use]
    pub fn sharing<K>(&self, breaker: &Breaker<K>) -> Option<Sharing> {
        Some(self.hub.seat(plumbing::instance(breaker))?.sharing())
    }
}

impl<S: CircuitStore, R: Runtime<Sleep: Send> + Spawn> CircuitsBuilder<S, R> {
    /// Sets the namespace, such as the name of the environment. Required: so two environments on
    /// one store never share a circuit by accident.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Sets how long outcomes are collected before they are sent: 100 ms if it is not set. An
    /// outcome that opens the circuit is sent immediately.
    pub fn flush(mut self, every: Duration) -> Self {
        self.options.pace.flush = every;
        self
    }

    /// Sets the time without an answer or a notice after which the store is asked for a row: 5 s if
    /// it is not set.
    pub fn refresh(mut self, every: Duration) -> Self {
        self.options.pace.refresh = every;
        self
    }

    /// Sets how long the store may take for an answer, and to accept a connection: 500 ms if it is
    /// not set. After that it is out of reach: see [`Circuits`].
    pub fn store_timeout(mut self, limit: Duration) -> Self {
        self.options.store_timeout = limit;
        self
    }

    /// Sets the longest pause before a store that was lost is tried again: 1 s if it is not set.
    /// The first pauses are shorter, and each is up to a fifth shorter or longer, so that not all
    /// processes connect in one moment.
    pub fn retry(mut self, after: Duration) -> Self {
        self.options.retry = after;
        self
    }

    /// Starts the task.
    ///
    /// # Errors
    ///
    /// If the namespace is missing or invalid, a duration is zero, or the runtime refuses the task.
    pub fn build(self) -> Result<Circuits<S>, ShareError> {
        let namespace = Namespace::required(self.namespace.as_deref()).map_err(ShareError::Invalid)?;
        let Options { pace: Pace { flush, refresh }, store_timeout, retry } = self.options;
        for (name, time) in [("flush", flush), ("refresh", refresh), ("store_timeout", store_timeout), ("retry", retry)]
        {
            plumbing::duration(name, time, Duration::from_nanos(1)).map_err(ShareError::Invalid)?;
        }
        let needs = Arc::<Needs>::default();
        let keep = Arc::new(Keep(Arc::clone(&needs)));
        let (store, members) = (self.store, Mutex::default());
        let hub = Arc::new(Hub { store, namespace, options: self.options, needs, members });
        let process = build::printable(&build::program()).into();
        let trouble = Trouble::new("circuits", hub.namespace.clone(), process, None);
        let task = Arc::clone(&hub).run(self.runtime.clone(), Arc::downgrade(&keep), trouble);
        self.runtime.spawn(task).map_err(ShareError::Refused)?;
        Ok(Circuits { hub, keep })
    }
}

/// The error of circuits that cannot be shared as they are declared.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShareError {
    /// A setting is impossible, the namespace is missing, or it or a label cannot be a name on the
    /// store.
    #[error("no circuit is shared")]
    Invalid(#[source] InvalidArgument),
    /// The runtime refused the task that synchronizes.
    #[error("the task of the circuits was not run")]
    Refused(#[source] SpawnError),
}

impl<S> Clone for Circuits<S> {
    fn clone(&self) -> Self {
        Circuits { hub: Arc::clone(&self.hub), keep: Arc::clone(&self.keep) }
    }
}

impl<S> fmt::Debug for Circuits<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Circuits").field("namespace", &self.hub.namespace).finish_non_exhaustive()
    }
}

impl<S, R> fmt::Debug for CircuitsBuilder<S, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CircuitsBuilder")
            .field("namespace", &self.namespace)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// The connection of a breaker to the store through which it shares its circuit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sharing {
    /// Whether the store is in reach. If not, the circuit goes by the calls of this process alone.
    pub is_connected: bool,
    /// For how long the store has been out of reach: since the breaker was built, if it never was
    /// in reach. Zero if it is.
    pub down_for: Duration,
    /// The error by which the store was lost, if there was one.
    pub error: Option<StoreError>,
    /// Whether another process uses other settings for the same circuit, by the last answer.
    pub settings_differ: bool,
}
