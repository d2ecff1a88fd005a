//! The fleet as a process sees it.

mod ask;
pub(crate) mod build;
pub mod ceiling;
mod config;
mod driver;
mod error;
mod hub;
mod join;
mod keys;
mod reply;
mod seat;
mod share;
mod state;
mod status;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bulklink::runtime::{Runtime, Spawn};
use bulklink::{InvalidArgument, Registry};

pub use self::build::{BuildError, RandomError};
pub use self::config::ShareConfig;
use self::driver::drive;
pub use self::error::{JoinError, LeaseLost, ResizeError};
use self::hub::Hub;
pub use self::join::ShareBuilder;
pub use self::share::FleetShare;
pub use self::status::{FencingToken, ShareStatus};
use crate::trouble::{Handler, LastError, Trouble};
use crate::{LeaseStore, Namespace, ProcessId, Session, StoreError};

/// What happens to calls while the store is out of reach.
///
/// Units are used until their lease is over, whatever the policy. A process that has none waits for
/// the store for as long, as an outage may be short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum Outage {
    /// They are rejected; those that wait already go on waiting.
    #[default]
    Reject,
    /// Each process admits as many units as it would have if the last limit were divided by the
    /// weights of the processes that lived last, at least one. A process that never reached the
    /// store admits none.
    Share,
    /// They are admitted, up to the capacity of their bulkhead.
    Admit,
}

/// One process' part in a fleet: a connection to the store, and the shares of its bulkheads.
///
/// Cheap to clone. The shares last as long as their bulkheads, also when the last clone is dropped.
pub struct Fleet<R> {
    open: Arc<Open>,
    namespace: Namespace,
    id: ProcessId,
    error: LastError,
    /// Those of which sections begin the shares.
    bulkheads: Option<Registry>,
    runtime: R,
}

/// Closes the fleet when its last handle is dropped.
struct Open {
    hub: Arc<Hub>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.hub.close();
    }
}

impl<R: Runtime + Spawn> Fleet<R>
where
    R::Sleep: Send,
{
    /// Begins a fleet on a store. The runtime runs the task that connects and renews.
    ///
    /// ```
    /// use bulklink_fleet::{Fleet, MemoryStore};
    /// use bulklink_tokio::Tokio;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// // A store for tests. A service has that of `bulklink-redis` or `bulklink-postgres`.
    /// let store = MemoryStore::new(Tokio);
    /// let fleet = Fleet::builder(store, Tokio)
    ///     .namespace("prod")
    ///     .process("shop-7")
    ///     .on_store_change(|error| match error {
    ///         Some(error) => eprintln!("the store does not answer: {error}"),
    ///         None => eprintln!("the store answers"),
    ///     })
    ///     .build()?;
    /// # assert_eq!(fleet.error(), None);
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder<S: LeaseStore>(store: S, runtime: R) -> FleetBuilder<S, R> {
        FleetBuilder {
            store,
            runtime,
            namespace: None,
            process: None,
            store_timeout: Duration::from_millis(500),
            handler: None,
            bulkheads: None,
        }
    }

    /// Leaves with all shares: no call is admitted from now on, and no other share begins.
    /// Completes when nothing is in use and the store knows, or does not answer. So an operation
    /// that never ends keeps it: a service calls it with a limit, as by `Drain::also` of
    /// `bulklink-tokio`.
    ///
    /// # Cancel safety
    ///
    /// The process leaves when this is called, before the future is polled.
    pub fn close(&self) -> impl Future<Output = ()> + Send + use<R> {
        self.open.hub.leave()
    }
}

impl<R> Fleet<R> {
    /// Returns the identity of this process in the fleet.
    #[must_use]
    pub fn id(&self) -> ProcessId {
        self.id
    }

    /// Returns why the store cannot be reached or refuses, such as a wrong password or a missing
    /// right: of several shares that it refuses, of one. `None` if it answers, or if no share
    /// needs it.
    #[must_use]
    pub fn error(&self) -> Option<StoreError> {
        self.error.get()
    }

    /// Returns the namespace.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }
}

impl<R: Clone> Fleet<R> {
    /// Returns the shares of this process that have not ended, in the order of their labels, but
    /// for those of keys of partitions: [`share_of`](Fleet::share_of) has these.
    #[must_use]
    pub fn shares(&self) -> Vec<FleetShare<R>> {
        let seats = self.open.hub.all().into_iter().filter(|seat| !seat.has_ended() && !seat.is_of_key());
        let mut shares: Vec<_> = seats.map(|seat| FleetShare { seat, runtime: self.runtime.clone() }).collect();
        shares.sort_by_key(FleetShare::label);
        shares
    }
}

impl<R: Clone> Clone for Fleet<R> {
    fn clone(&self) -> Self {
        Self {
            open: Arc::clone(&self.open),
            namespace: self.namespace.clone(),
            error: self.error.clone(),
            bulkheads: self.bulkheads.clone(),
            runtime: self.runtime.clone(),
            ..*self
        }
    }
}

impl<R> fmt::Debug for Fleet<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fleet").field("namespace", &self.namespace).field("id", &self.id).finish_non_exhaustive()
    }
}

/// Builds a [`Fleet`].
#[must_use = "a builder does nothing until `build`"]
pub struct FleetBuilder<S, R> {
    store: S,
    runtime: R,
    namespace: Option<String>,
    process: Option<String>,
    store_timeout: Duration,
    handler: Option<Handler>,
    bulkheads: Option<Registry>,
}

impl<S: LeaseStore, R: Runtime + Spawn> FleetBuilder<S, R>
where
    R::Sleep: Send,
{
    /// Sets the namespace, such as the name of the environment. Required: so two environments on
    /// one store never share a limit by accident.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Sets the name of this process in the server's list of clients, such as the service and its
    /// host. The default is the name of the program and the process' number. The rows of a limit
    /// have its [identity](Fleet::id).
    pub fn process(mut self, process: impl Into<String>) -> Self {
        self.process = Some(process.into());
        self
    }

    /// Sets how long the store may take to answer, and to accept a connection: 500 ms by default.
    /// After that, the connection is made again.
    pub fn store_timeout(mut self, timeout: Duration) -> Self {
        self.store_timeout = timeout;
        self
    }

    /// Sets a handler that hears when the store gets out of reach or refuses, with the error, and
    /// when it answers again, with `None`. In one outage it hears each cause once, at most eight,
    /// and nothing of further attempts. An outage that begins within ten seconds after the end of
    /// another ends when ten seconds have passed without an error: a store may answer one share
    /// again and again, and end the connection because of another, such as one with damaged data.
    /// [`Fleet::error`] has the error at any time, and with the feature `tracing`, the log has the
    /// same.
    ///
    /// It runs in the fleet's task, so it must not block. Its panics are caught.
    pub fn on_store_change(mut self, handler: impl Fn(Option<&StoreError>) + Send + Sync + 'static) -> Self {
        self.handler = Some(Box::new(handler));
        self
    }

    /// Has [`Fleet::apply`] begin the share of each bulkhead of this registry that has a section,
    /// so that no code of the program does. The fleet keeps the registry.
    pub fn bulkheads(mut self, registry: &Registry) -> Self {
        self.bulkheads = Some(registry.clone());
        self
    }

    /// Starts the task that connects to the store, and returns immediately.
    ///
    /// # Errors
    ///
    /// If the namespace is missing or invalid, the time is zero, the operating system gives no
    /// random bits for the process' identity, or the runtime refuses the task.
    pub fn build(self) -> Result<Fleet<R>, BuildError> {
        let namespace = Namespace::required(self.namespace.as_deref())?;
        if self.store_timeout.is_zero() {
            return Err(InvalidArgument::new("store_timeout", "0 s", "must be longer than zero").into());
        }
        let process: Arc<str> = build::printable(&self.process.unwrap_or_else(build::program)).into();
        let id = build::random_id(getrandom::fill).map_err(BuildError::Random)?;
        let hub = Arc::<Hub>::default();
        let trouble = Trouble::new("a fleet", namespace.clone(), Arc::clone(&process), self.handler);
        let error = trouble.error();
        let driver = drive(
            trouble,
            Arc::clone(&hub),
            Arc::new(self.store),
            self.runtime.clone(),
            Session { id, process },
            self.store_timeout,
        );
        self.runtime.spawn(driver).map_err(BuildError::Spawn)?;
        let (open, bulkheads) = (Arc::new(Open { hub }), self.bulkheads);
        Ok(Fleet { open, namespace, id, error, bulkheads, runtime: self.runtime })
    }
}

impl<S, R> fmt::Debug for FleetBuilder<S, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FleetBuilder").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}
