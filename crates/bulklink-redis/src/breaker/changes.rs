//! A subscription to the transitions of a namespace.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;

use bulklink_fleet::circuits::{Change, Changes};
use bulklink_fleet::{Namespace, StoreError};
use futures_channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures_core::Stream;
use redis::{PushInfo, PushKind, Value, cmd};

use super::connections::Connections;
use super::wire;
use crate::error::of_server;
use crate::keys::circuits_channel;
use crate::link::node::{Hearer, Node, Purpose, text_of};

/// A subscription on [`RedisCircuits`](super::RedisCircuits), with a connection of its own.
pub struct RedisChanges {
    changes: UnboundedReceiver<Change>,
    /// The connection exists as long as this.
    _node: Node,
}

impl fmt::Debug for RedisChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisChanges").finish_non_exhaustive()
    }
}

impl RedisChanges {
    pub(super) async fn subscribe(connections: &Connections, namespace: &Namespace) -> Result<Self, StoreError> {
        let (sender, changes) = unbounded();
        let channel = circuits_channel(namespace.as_str());
        let ears = Arc::new(Ears { namespace: namespace.clone(), channel: channel.clone(), sender });
        let (info, timeout) = (connections.info.clone(), connections.connect_timeout);
        let node = Node::connect(info, timeout, Purpose::Look, Some(ears)).await?;
        if !node.life.begin() {
            return Err(StoreError::UNREACHABLE);
        }
        let mut subscribe = cmd("SUBSCRIBE");
        match node.send(subscribe.arg(&channel)).await? {
            Value::Push { kind: PushKind::Subscribe, data } if data.first().and_then(text_of) == Some(&*channel) => {
                Ok(RedisChanges { changes, _node: node })
            }
            Value::ServerError(error) => Err(of_server(&error)),
            _ => Err(StoreError::MALFORMED),
        }
    }
}

impl Changes for RedisChanges {
    async fn next(&mut self) -> Result<Change, StoreError> {
        let change = poll_fn(|context| Pin::new(&mut self.changes).poll_next(context)).await;
        change.ok_or(StoreError::UNREACHABLE)
    }
}

/// Hears messages.
struct Ears {
    namespace: Namespace,
    channel: String,
    sender: UnboundedSender<Change>,
}

impl Hearer for Ears {
    fn push(&self, push: PushInfo) {
        let [Value::BulkString(channel), Value::BulkString(message)] = &push.data[..] else { return };
        if push.kind != PushKind::Message || *channel != self.channel.as_bytes() {
            return;
        }
        // Others may publish on the channel too.
        if let Some(change) = wire::change(&self.namespace, message) {
            // It fails once the subscription is dropped.
            let _ = self.sender.unbounded_send(change);
        }
    }

    fn end(&self) {
        self.sender.close_channel();
    }
}
