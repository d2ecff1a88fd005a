//! A subscription to the transitions of a namespace.

use std::fmt;

use bulklink_fleet::circuits::{Change, Changes};
use bulklink_fleet::{Namespace, StoreError};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_postgres::{AsyncMessage, Client};

use super::session::Task;
use super::wire;
use crate::error::store_error;
use crate::failure::Failure;
use crate::server::Server;

/// The channel of all transitions in a database: its name is too short for a namespace.
pub(super) const CHANNEL: &str = "bulklink_circuit";

/// A subscription on [`PostgresCircuits`](super::PostgresCircuits), with a session of its own.
pub struct PostgresChanges {
    changes: UnboundedReceiver<Change>,
    /// The session exists as long as these.
    _session: (Client, Task),
}

impl fmt::Debug for PostgresChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresChanges").finish_non_exhaustive()
    }
}

impl PostgresChanges {
    pub(super) async fn subscribe(server: &Server, namespace: &Namespace) -> Result<Self, StoreError> {
        let of = |failure: Failure| store_error(&failure);
        let (client, wire) = server.connect("bulklink changes").await.map_err(of)?;
        let (sender, changes) = unbounded_channel();
        let namespace = namespace.clone();
        let task = Task::spawn(wire, move |message| {
            let AsyncMessage::Notification(message) = message else { return };
            // Others may notify on the channel too.
            if let Some(change) = wire::change(message.payload())
                && change.name.namespace() == namespace.as_str()
            {
                // It fails once the subscription is dropped.
                let _ = sender.send(change);
            }
        });
        let listen = format!("LISTEN {CHANNEL}");
        let listening = server.in_time(client.batch_execute(&listen)).await.map_err(of)?;
        listening.map_err(|error| of(Failure::of(&error)))?;
        Ok(PostgresChanges { changes, _session: (client, task) })
    }
}

impl Changes for PostgresChanges {
    async fn next(&mut self) -> Result<Change, StoreError> {
        self.changes.recv().await.ok_or(StoreError::Unreachable)
    }
}
