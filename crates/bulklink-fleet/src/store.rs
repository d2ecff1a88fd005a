//! The interface of stores: they carry commands and notices, and decide nothing.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use crate::share::{self, LimitRefusal, Notice, Statement};
use crate::{Name, Namespace, ProcessId, RunId, StoreError, Version};

/// A server on which processes share limits.
///
/// A store has no policy: it has no deadlines, does not repeat commands, and does not connect
/// again by itself. A command must never reach another server, or another run of the server, than
/// the one that its link was connected to.
///
/// # Other stores
///
/// Any crate may implement this and [`Link`]. A method that they must have is added in a release
/// that breaks others alone; one with a default may come in any.
pub trait LeaseStore: Send + Sync + 'static {
    /// A connection.
    type Link: Link;

    /// Connects for `session`. Its notices go to `receiver` as long as the link exists.
    fn connect(
        &self,
        session: &Session,
        receiver: Arc<dyn Receiver>,
    ) -> impl Future<Output = Result<Self::Link, StoreError>> + Send;

    /// Returns the names of all limits in a namespace, or in all without one, in order. It can take
    /// several steps and a connection of its own.
    fn names(&self, namespace: Option<&Namespace>) -> impl Future<Output = Result<Vec<Name>, StoreError>> + Send;
}

/// One connection to a server.
///
/// It ends at the first error that is no [refusal](StoreError::is_refusal). Notices may be late,
/// doubled or lost.
pub trait Link: Send + Sync + 'static {
    /// Subscribes to the notices about `name`, so that no later grant is missed. Returns what is
    /// known of the server that has the name.
    fn listen(&self, name: &Name) -> impl Future<Output = Result<Server, StoreError>> + Send;

    /// Ends what [`listen`](Self::listen) began, for a share that has nothing and needs nothing:
    /// many names that are idle should cost a server little. A store to which they cost nothing
    /// need not do anything.
    fn unlisten(&self, name: &Name) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Sends the statement of a process about its share, and returns the reply. It takes effect at
    /// most once.
    ///
    /// Commands of one link about one name take effect in the order in which these futures are
    /// first polled. A future that is dropped may leave its command with or without effect.
    fn sync(&self, name: &Name, statement: Statement)
    -> impl Future<Output = Result<share::Answer, StoreError>> + Send;

    /// Changes the limit that processes share to `limit` units, if its version is `expected`, and
    /// returns the new version. It takes effect at most once.
    fn resize(
        &self,
        name: &Name,
        limit: u32,
        expected: Version,
    ) -> impl Future<Output = Result<Result<Version, LimitRefusal>, StoreError>> + Send;

    /// Reads the state of a limit that processes share. `None` if no process has declared one.
    fn look(&self, name: &Name) -> impl Future<Output = Result<Option<share::Status>, StoreError>> + Send;
}

/// The facts that a link knows about the server of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Server {
    /// The run of the server program. `None` if it cannot be learned.
    pub run: Option<RunId>,
    /// How long the server had run when the link was made, rounded down. `None` if unknown.
    pub age: Option<Duration>,
}

impl Server {
    /// Makes the facts.
    pub const fn new(run: Option<RunId>, age: Option<Duration>) -> Self {
        Self { run, age }
    }
}

/// The process that connects.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Session {
    /// Its identity.
    pub id: ProcessId,
    /// A name for people, such as the program's. It is shown in the server's lists of clients.
    pub process: Arc<str>,
}

impl Session {
    /// Makes a session, such as for a store's tests.
    pub fn new(id: ProcessId, process: impl Into<Arc<str>>) -> Self {
        Self { id, process: process.into() }
    }
}

/// Takes notices, which a link receives without a question. Calls must be short, and must not
/// block.
pub trait Receiver: Send + Sync + 'static {
    /// A notice about the share of `name`.
    fn notice(&self, name: &Name, notice: Notice);

    /// The link has ended, and no notice will follow.
    fn ended(&self);
}
