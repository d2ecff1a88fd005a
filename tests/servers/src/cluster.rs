//! A cluster on the loopback.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::{Missing, Reply, Server};

const SLOTS: usize = 16_384;

/// Nodes need about two seconds to hear of each other.
const PATIENCE: Duration = Duration::from_mins(1);

/// Primaries that share all slots evenly, without replicas.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Server>,
}

impl Cluster {
    /// Starts a cluster, and returns when each node knows all slots, and is connected to all
    /// others.
    ///
    /// # Errors
    ///
    /// Returns [`Missing`] if this machine has no server.
    ///
    /// # Panics
    ///
    /// Panics if the nodes do not find each other.
    pub fn start(count: usize) -> Result<Self, Missing> {
        let node = || Server::builder().node().config("cluster-node-timeout", "2000").start();
        let nodes = (0..count).map(|_| node()).collect::<Result<Vec<_>, _>>()?;
        let cluster = Cluster { nodes };
        for (number, node) in cluster.nodes.iter().enumerate() {
            let [first, end] = [number, number + 1].map(|number| number * SLOTS / count);
            done(node, &["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &(end - 1).to_string()]);
            // Nodes of one epoch would have to agree on others first.
            done(node, &["CLUSTER", "SET-CONFIG-EPOCH", &(number + 1).to_string()]);
            let [port, bus] = cluster.nodes[0].node_ports().map(|port| port.to_string());
            done(node, &["CLUSTER", "MEET", "127.0.0.1", &port, &bus]);
        }
        let start = Instant::now();
        while !cluster.nodes.iter().all(|node| is_complete(node, count)) {
            assert!(start.elapsed() < PATIENCE, "{}", cluster.nodes[0].call(&["CLUSTER", "INFO"]).text());
            sleep(Duration::from_millis(20));
        }
        Ok(cluster)
    }

    /// Returns the nodes.
    pub fn nodes(&self) -> &[Server] {
        &self.nodes
    }

    /// Returns the nodes, so that they can be killed.
    pub fn nodes_mut(&mut self) -> &mut [Server] {
        &mut self.nodes
    }

    /// Returns the number of the node that owns the slot of a key.
    ///
    /// # Panics
    ///
    /// Panics if no node does.
    pub fn owner_of(&self, key: &str) -> usize {
        let owner = self.nodes.iter().position(|node| !node.call(&["EXISTS", key]).is_error());
        owner.unwrap_or_else(|| panic!("no node owns {key}"))
    }

    /// Moves the slot of a key, with all keys in it, to a node.
    ///
    /// # Panics
    ///
    /// Panics if a node refuses.
    pub fn move_slot_of(&self, key: &str, to: usize) {
        self.begin_move_of(key, to);
        self.end_move_of(key, to);
    }

    /// Moves all keys in the slot of a key to a node. The slot itself stays where it is: for what
    /// it lacks, its node refers to the other one.
    ///
    /// # Panics
    ///
    /// Panics if a node refuses.
    pub fn begin_move_of(&self, key: &str, to: usize) {
        let (source, target) = (&self.nodes[self.owner_of(key)], &self.nodes[to]);
        let [from_id, to_id] = [source, target].map(|node| node.call(&["CLUSTER", "MYID"]).text());
        let slot = &*source.call(&["CLUSTER", "KEYSLOT", key]).text();
        if from_id == to_id {
            return;
        }
        done(target, &["CLUSTER", "SETSLOT", slot, "IMPORTING", &from_id]);
        done(source, &["CLUSTER", "SETSLOT", slot, "MIGRATING", &to_id]);
        let port = target.port().to_string();
        loop {
            let keys = source.call(&["CLUSTER", "GETKEYSINSLOT", slot, "100"]).list();
            if keys.is_empty() {
                break;
            }
            let keys: Vec<_> = keys.iter().map(Reply::text).collect();
            let mut migrate = vec!["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "KEYS"];
            migrate.extend(keys.iter().map(String::as_str));
            done(source, &migrate);
        }
    }

    /// Moves the slot of a key to the node that has its keys.
    ///
    /// # Panics
    ///
    /// Panics if a node refuses.
    pub fn end_move_of(&self, key: &str, to: usize) {
        let target = &self.nodes[to];
        let to_id = target.call(&["CLUSTER", "MYID"]).text();
        let slot = &*target.call(&["CLUSTER", "KEYSLOT", key]).text();
        // The target first, so that a node always owns the slot.
        let others = self.nodes.iter().filter(|node| !std::ptr::eq(*node, target));
        for node in [target].into_iter().chain(others) {
            done(node, &["CLUSTER", "SETSLOT", slot, "NODE", &to_id]);
        }
    }
}

/// Whether a node knows all others, and an owner of each slot, and passes messages on to all: what
/// is published before that is lost.
fn is_complete(node: &Server, count: usize) -> bool {
    let [info, nodes] = ["INFO", "NODES"].map(|what| node.call(&["CLUSTER", what]).text());
    let has = |line: String| info.lines().any(|found| found == line);
    let is_linked = |line: &str| line.split(' ').nth(7) == Some("connected") && !line.contains("handshake");
    has("cluster_state:ok".to_owned()) && has(format!("cluster_known_nodes:{count}")) && nodes.lines().all(is_linked)
}

fn done(node: &Server, words: &[&str]) {
    let reply = node.call(words);
    assert!(!reply.is_error(), "{words:?}: {}", reply.text());
}
