//! Connections to the servers that have circuits: one to each, made when it is needed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bulklink_fleet::{Name, StoreError};
use redis::{ConnectionInfo, Value};

use crate::error::{of_server, refused};
use crate::link::TRIES;
use crate::link::node::{Node, Purpose, error_of};
use crate::link::route;
use crate::scripts::Source;

/// The connections of a store.
pub(super) struct Connections {
    pub(super) info: ConnectionInfo,
    pub(super) connect_timeout: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    nodes: Vec<Arc<Node>>,
    /// Of names that live on another server of the cluster than the store's URL names.
    routes: HashMap<Name, String>,
}

impl Connections {
    pub(super) fn new(info: ConnectionInfo, connect_timeout: Duration) -> Self {
        Connections { info, connect_timeout, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls a script for a name, wherever it lives.
    pub(super) async fn call(
        &self,
        name: &Name,
        script: &Source,
        timeout: Duration,
        arguments: &[String],
    ) -> Result<Value, StoreError> {
        let address = self.lock().routes.get(name).cloned();
        let mut node = self.node(address.as_deref()).await?;
        let mut is_asking = false;
        for _ in 0..TRIES {
            let reply = node.call(script, arguments, Some(timeout), is_asking).await;
            if reply.is_err() {
                self.forget(&node);
            }
            let reply = reply?;
            let Some(error) = error_of(&reply) else { return Ok(reply) };
            let moved = route::moved(error);
            if let Some(address) = moved.or_else(|| route::asked(error)) {
                let info = route::redirected(&node.info, address).ok_or(StoreError::MALFORMED)?;
                let address = info.addr().to_string();
                node = self.connect(info).await?;
                is_asking = moved.is_none();
                // Until its slot has moved, a name has its old place.
                if !is_asking {
                    self.lock().routes.insert(name.clone(), address);
                }
            } else {
                // The circuit may be on another server now.
                if matches!(error.code(), "READONLY" | "CLUSTERDOWN" | "MASTERDOWN" | "LOADING") {
                    self.forget(&node);
                }
                return Err(of_server(error));
            }
        }
        Err(refused("MOVED"))
    }

    /// The connection to an address, or to the one that the store's URL names.
    async fn node(&self, address: Option<&str>) -> Result<Arc<Node>, StoreError> {
        let home = self.info.addr().to_string();
        let known = {
            let mut state = self.lock();
            state.nodes.retain(|node| !node.life.is_over());
            let wanted = address.unwrap_or(&home);
            state.nodes.iter().find(|node| node.address == wanted).cloned()
        };
        match known {
            Some(node) => Ok(node),
            // Where a name lived may be gone: the others know where it is now.
            None => self.connect(self.info.clone()).await,
        }
    }

    async fn connect(&self, info: ConnectionInfo) -> Result<Arc<Node>, StoreError> {
        let address = info.addr().to_string();
        let find = |state: &State| state.nodes.iter().find(|node| node.address == address).cloned();
        if let Some(known) = find(&self.lock()) {
            return Ok(known);
        }
        let node = Node::connect(info, self.connect_timeout, Purpose::Look, None).await?;
        let mut state = self.lock();
        // Others may have connected meanwhile.
        if let Some(known) = find(&state) {
            return Ok(known);
        }
        let node = Arc::new(node);
        state.nodes.push(Arc::clone(&node));
        Ok(node)
    }

    /// Uses a connection no more. Answers that are on the way still come.
    fn forget(&self, node: &Arc<Node>) {
        self.lock().nodes.retain(|known| !Arc::ptr_eq(known, node));
    }
}
