//! Circuits that several processes share through a store.

mod block;
mod driver;
mod remote;
mod signal;

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bulklink::InvalidArgument;
use bulklink::runtime::{Runtime, Spawn, SpawnError};

pub(crate) use self::block::block_on;
use self::driver::Hub;
pub(crate) use self::remote::Remote;
pub use self::remote::Sharing;
use self::signal::{Keep, Signal};
use crate::store::{CircuitStore, Name, Namespace};
use crate::{Breaker, BreakerBuilder, InvalidSetting};

/// How a process uses the store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    flush: Duration,
    refresh: Duration,
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
/// use bulklink_breaker::store::MemoryStore;
/// use bulklink_breaker::{Breaker, Circuits, Settings};
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
/// # What is exact, and what is not
///
/// - The store lets through as many probes as the settings say, of all processes together.
/// - It counts each outcome at most once. One that is being sent when the connection ends may be
///   lost.
/// - Outcomes from while the store is out of reach are not reported once they are older than a
///   second, except those that have opened the circuit, until its cool-down is over.
/// - A process that loses the store sends its own probes, as many as the settings say, those that
///   the store let through before among them.
/// - Commands of one circuit go one after the other, and those of up to 16 circuits at the same
///   time. Further ones wait for their turn.
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
            flush: Duration::from_millis(100),
            refresh: Duration::from_secs(5),
            store_timeout: Duration::from_millis(500),
            retry: Duration::from_secs(1),
        };
        CircuitsBuilder { store, runtime, namespace: None, options }
    }

    /// Builds a breaker whose circuit is shared under its label. It works immediately, by the calls
    /// of this process alone until the store has answered.
    ///
    /// # Errors
    ///
    /// If a setting is impossible, or the label cannot be a name on the store. Several breakers may
    /// share one label: each is as one of another process.
    pub fn share(&self, breaker: BreakerBuilder) -> Result<Breaker, ShareError> {
        let name = Name::labelled(&self.hub.namespace, breaker.label()).map_err(ShareError::Name)?;
        let id = self.hub.next_id.fetch_add(1, Ordering::Relaxed);
        let remote = |settings, now| Remote::new(id, name.clone(), settings, Arc::clone(&self.keep), now);
        let breaker = breaker.build_shared(remote).map_err(ShareError::Setting)?;
        let mut members = self.hub.members.lock().unwrap_or_else(PoisonError::into_inner);
        members.insert(id, (name, Arc::downgrade(breaker.core())));
        drop(members);
        self.hub.signal.notify_of(id);
        Ok(breaker)
    }
}

impl<S: CircuitStore, R: Runtime<Sleep: Send> + Spawn> CircuitsBuilder<S, R> {
    /// Sets the namespace, such as the name of the environment. Required: so two environments on
    /// one store never share a circuit by accident.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// How long outcomes are collected before they are sent: 100 ms if it is not set. An outcome
    /// that opens the circuit is sent immediately.
    pub fn flush(mut self, every: Duration) -> Self {
        self.options.flush = every;
        self
    }

    /// After what time without an answer or a notice the store is asked for a row: 5 s if it is not
    /// set.
    pub fn refresh(mut self, every: Duration) -> Self {
        self.options.refresh = every;
        self
    }

    /// How long the store may take for an answer: 500 ms if it is not set. After that it is out of
    /// reach.
    pub fn store_timeout(mut self, limit: Duration) -> Self {
        self.options.store_timeout = limit;
        self
    }

    /// How long after a loss of the store it is tried again: 1 s if it is not set.
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
        let namespace = Namespace::required(self.namespace.as_deref()).map_err(ShareError::Name)?;
        let Options { flush, refresh, store_timeout, retry } = self.options;
        for (name, time) in [("flush", flush), ("refresh", refresh), ("store_timeout", store_timeout), ("retry", retry)]
        {
            crate::circuit::duration(name, time, Duration::from_nanos(1)).map_err(ShareError::Setting)?;
        }
        let signal = Arc::new(Signal::default());
        let keep = Arc::new(Keep(Arc::clone(&signal)));
        let (store, next_id, members) = (self.store, AtomicU64::default(), Mutex::default());
        let hub = Arc::new(Hub { store, namespace, options: self.options, signal, next_id, members });
        let task = Arc::clone(&hub).run(self.runtime.clone(), Arc::downgrade(&keep));
        self.runtime.spawn(task).map_err(ShareError::Refused)?;
        Ok(Circuits { hub, keep })
    }
}

/// The error of circuits that cannot be shared as they are declared.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShareError {
    /// The namespace is missing, or it or a label cannot be a name on the store.
    Name(InvalidArgument),
    /// A setting is impossible.
    Setting(InvalidSetting),
    /// The runtime refused the task that synchronizes.
    Refused(SpawnError),
}

impl fmt::Display for ShareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShareError::Name(invalid) => invalid.fmt(f),
            ShareError::Setting(invalid) => invalid.fmt(f),
            ShareError::Refused(refused) => refused.fmt(f),
        }
    }
}

impl Error for ShareError {}

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
