//! A subscription to the transitions of a namespace.

use std::future::pending;

use bulklink_fleet::circuits::{Change, Changes, encoding};
use bulklink_fleet::{Namespace, StoreError};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_postgres::Client;

use crate::error::of_statement;
use crate::server::Server;
use crate::session::Task;

/// The channel of all transitions in a database: its name is too short for a namespace.
pub(super) const CHANNEL: &str = "bulklink_circuit";

/// A subscription on [`PostgresCircuits`](super::PostgresCircuits), with a session of its own.
#[derive(Debug)]
pub struct PostgresChanges {
    changes: UnboundedReceiver<Change>,
    /// The session exists as long as these.
    session: (Client, Task),
}

impl PostgresChanges {
    pub(super) async fn subscribe(server: &Server, namespace: &Namespace) -> Result<Self, StoreError> {
        let (client, wire) = server.connect("bulklink changes").await?;
        let (sender, changes) = unbounded_channel();
        let namespace = namespace.clone();
        let hear = move |message: &str| {
            // Others may notify on the channel too.
            let change = message.split_once(' ').and_then(|(name, numbers)| encoding::change(name, numbers));
            if let Some(change) = change.filter(|change| change.name.namespace() == namespace.as_str()) {
                // It fails once the subscription is dropped.
                let _ = sender.send(change);
            }
        };
        let task = Task::spawn(wire, hear, pending());
        let listen = format!("LISTEN {CHANNEL}");
        server.in_time(client.batch_execute(&listen)).await?.map_err(of_statement)?;
        Ok(PostgresChanges { changes, session: (client, task) })
    }
}

impl Changes for PostgresChanges {
    async fn next(&mut self) -> Result<Change, StoreError> {
        self.changes.recv().await.ok_or_else(|| self.session.1.ended())
    }
}
