//! The fleet as a process sees it.

mod build;
mod bulkhead;
mod driver;
pub(crate) mod foreign;
mod member;
mod permit;
mod reply;
mod state;

use std::fmt;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::time::Duration;

use bulklink::InvalidArgument;
use bulklink::runtime::{Clock, Instant, Runtime, Spawn};

pub use self::build::{BuildError, BulkheadBuilder, ConnectError, RandomError};
pub use self::bulkhead::{ExecuteError, FleetBulkhead, SetLimitError, Wrapped};
use self::member::Shared;
pub use self::permit::Permit;
use self::state::State;
use crate::{LeaseStore, Namespace, OwnerId, Session};

/// What happens to calls while the store is out of reach.
///
/// Permits that are held stay valid until their lease is over, whatever the policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outage {
    /// They are rejected as [`Unavailable`](crate::Reason::Unavailable).
    #[default]
    Reject,
    /// Each process admits as many units as it would have if the last limit were divided by the
    /// processes that lived last, at least one. A process that never reached the store rejects.
    /// Their permits have no token.
    Share,
    /// They are all admitted. Their permits have no token.
    Admit,
}

/// One process' part in a fleet: a connection to the store, and its bulkheads.
///
/// Cheap to clone. When the last clone and the last bulkhead are dropped, the process leaves the
/// fleet; its permits stay valid until they are dropped.
pub struct Fleet<R> {
    open: Arc<Open>,
    namespace: Namespace,
    owner: OwnerId,
    process: Arc<str>,
    runtime: R,
    store_timeout: Duration,
}

/// Closes the fleet when its last handle is dropped.
struct Open {
    shared: Arc<Shared>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl<R: Runtime + Spawn> Fleet<R>
where
    R::Sleep: Send,
{
    /// Begins a fleet on a store. The runtime runs the task that connects and renews.
    pub fn builder<S: LeaseStore>(store: S, runtime: R) -> FleetBuilder<S, R> {
        FleetBuilder {
            store,
            runtime,
            namespace: None,
            process: None,
            owner: None,
            store_timeout: Duration::from_millis(500),
        }
    }

    /// Begins a bulkhead with this name. All processes that build one with the same name on the
    /// same store and in the same namespace share its limit.
    pub fn bulkhead(&self, label: &str) -> BulkheadBuilder<R> {
        BulkheadBuilder::new(self, label)
    }

    /// Closes all bulkheads, and completes when all permits are given back and the store knows.
    ///
    /// Calls that wait are rejected as [`Closed`](crate::Reason::Closed), and so are those of
    /// bulkheads that are built later. While the store is out of reach, it completes after one
    /// lease time.
    ///
    /// # Cancel safety
    ///
    /// The fleet is closed when this is called, before the future is polled.
    pub fn close(&self) -> impl Future<Output = ()> + Send + use<R> {
        self.open.shared.close();
        let members = self.open.shared.all();
        async move {
            for member in members {
                poll_fn(|context| member.poll(context, State::poll_over)).await;
            }
        }
    }
}

impl<R> Fleet<R> {
    /// Returns the identity of this process in the fleet.
    #[must_use]
    pub fn owner(&self) -> OwnerId {
        self.owner
    }

    /// Returns the namespace.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }
}

impl<R: Clone> Clone for Fleet<R> {
    fn clone(&self) -> Self {
        Self {
            open: Arc::clone(&self.open),
            namespace: self.namespace.clone(),
            process: Arc::clone(&self.process),
            runtime: self.runtime.clone(),
            ..*self
        }
    }
}

impl<R> fmt::Debug for Fleet<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fleet").field("namespace", &self.namespace).field("owner", &self.owner).finish_non_exhaustive()
    }
}

/// Builds a [`Fleet`].
#[must_use = "a builder does nothing until `build`"]
pub struct FleetBuilder<S, R> {
    store: S,
    runtime: R,
    namespace: Option<String>,
    process: Option<String>,
    owner: Option<OwnerId>,
    store_timeout: Duration,
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

    /// Sets what people read about this process in lists: such as the service and its host. The
    /// default is the name of the program and the process' number.
    pub fn process(mut self, process: impl Into<String>) -> Self {
        self.process = Some(process.into());
        self
    }

    /// Sets how long the store may take to answer, to accept a connection, and how long a call
    /// waits for a connection: 500 ms by default. After that, the connection is made again.
    pub fn store_timeout(mut self, timeout: Duration) -> Self {
        self.store_timeout = timeout;
        self
    }

    /// Sets the identity of this process. The default is random; a fixed one is for tests only,
    /// because two processes with the same identity would share their permits.
    #[doc(hidden)]
    pub fn owner(mut self, owner: OwnerId) -> Self {
        self.owner = Some(owner);
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
        let owner = match self.owner {
            Some(owner) => owner,
            None => build::random_owner(getrandom::fill).map_err(BuildError::Random)?,
        };
        let clock = self.runtime.clone();
        let shared = Arc::new(Shared::new(move || Clock::now(&clock).saturating_since(Instant::EPOCH)));
        let session = Session { owner, process: Arc::clone(&process) };
        let driver = driver::drive(Arc::clone(&shared), self.store, self.runtime.clone(), session, self.store_timeout);
        self.runtime.spawn(driver).map_err(BuildError::Spawn)?;
        let open = Arc::new(Open { shared });
        Ok(Fleet { open, namespace, owner, process, runtime: self.runtime, store_timeout: self.store_timeout })
    }
}

impl<S, R> fmt::Debug for FleetBuilder<S, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FleetBuilder").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}
