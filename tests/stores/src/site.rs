//! The needs of the suite from a store and its server.

use std::path::PathBuf;
use std::time::Duration;

use bulklink::runtime::{Runtime, Spawn, Timer};
use bulklink_fleet::LeaseStore;
use bulklink_servers::{Data, Proxy};

/// A private server with a store on it.
pub trait Site: Send {
    /// The store.
    type Store: LeaseStore;

    /// Far more than a restart takes, and than a busy machine keeps a process from beating.
    const RESTART: Duration;

    /// Returns a store that connects to the server itself.
    fn store(&self) -> Self::Store;

    /// Returns a store that connects through a network.
    fn through(&self, proxy: &Proxy) -> Self::Store;

    /// Returns the socket of the server.
    fn socket(&self) -> PathBuf;

    /// Ends all connections of links.
    fn end_sessions(&self);

    /// Returns the names of the processes that are connected, as far as the server shows them.
    fn sessions(&self) -> String;

    /// Ends the server and starts it again.
    fn restart(&mut self, data: Data);

    /// Ends the server.
    fn kill(&mut self);

    /// Stops all processes of the server.
    fn stop_process(&mut self);

    /// Lets stopped processes go on.
    fn continue_process(&mut self);
}

/// A runtime of these tests.
pub trait Platform: Runtime + Timer<Sleep: Send> + Spawn {}

impl<R: Runtime + Timer<Sleep: Send> + Spawn> Platform for R {}
