//! A link: one connection to each server that has a name of the process, usually to one.
//!
//! Nothing here connects again, and no command is sent twice unless a server has refused it: the
//! first end of a connection is the end of the link.

pub(crate) mod node;
pub(crate) mod route;
mod shared;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bulklink_fleet::share::{self, Allocator, LimitRefusal, Statement};
use bulklink_fleet::{Link, Name, ProcessId, Receiver, Server, Session, StoreError, StoreErrorKind, Version};
use redis::{ConnectionInfo, PushKind, Value, cmd};

use self::node::{Hearer, Node, Purpose, error_of, text_of};
use self::shared::{Route, Shared};
use crate::error::{of_server, refused};
use crate::keys::Keys;
use crate::{decode, encode};

/// How many servers a command is sent to, as redirections lead it.
pub(crate) const TRIES: usize = 4;

/// A connection to Redis or Valkey, made by a [`RedisStore`](crate::RedisStore).
///
/// It talks to more than one server if it is a cluster in which names live on several nodes. The
/// end of one connection is the end of the link.
pub struct RedisLink {
    shared: Arc<Shared>,
    id: ProcessId,
    process: Arc<str>,
    timeout: Duration,
}

impl fmt::Debug for RedisLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisLink").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Drop for RedisLink {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl RedisLink {
    pub(crate) async fn connect(
        info: ConnectionInfo,
        timeout: Duration,
        session: &Session,
        receiver: Arc<dyn Receiver>,
    ) -> Result<Self, StoreError> {
        let (id, process) = (session.id, Arc::clone(&session.process));
        let link = RedisLink { shared: Shared::new(receiver), id, process, timeout };
        link.open(info).await?;
        Ok(link)
    }

    async fn open(&self, info: ConnectionInfo) -> Result<Arc<Node>, StoreError> {
        let purpose = Purpose::Commands(&self.process);
        self.shared.adopt(Node::connect(info, self.timeout, purpose, Some(self.shared.clone())).await?)
    }

    /// The connection to the server that a redirection names.
    async fn follow(&self, node: &Node, address: &str) -> Result<Arc<Node>, StoreError> {
        let info = route::redirected(&node.info, address).ok_or(StoreError::MALFORMED)?;
        match self.shared.node_at(&info.addr().to_string()) {
            Some(node) => Ok(node),
            // The other names live on: a node that is dead, or not trusted, must not end the link.
            None => self.open(info).await.map_err(|error| match error.kind() {
                StoreErrorKind::Unreachable | StoreErrorKind::TimedOut | StoreErrorKind::Tls => {
                    refused("CLUSTERDOWN").with_source(Arc::new(error))
                }
                _ => error,
            }),
        }
    }

    /// Ends the link after an error that leaves it without use.
    fn judge<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        // An answer on a link that has ended may be that of another command; but the error of the
        // network is that of the link.
        let result = match result {
            Err(error) if error.kind() == StoreErrorKind::Unreachable => Err(error),
            result => self.shared.check().and(result),
        };
        if result.as_ref().is_err_and(|error| !error.is_refusal()) {
            self.shared.end();
        }
        result
    }

    async fn subscribe(&self, name: &Name) -> Result<Server, StoreError> {
        let Route { mut node, is_listened } = self.shared.route(name)?;
        // Known before the server knows them, so that no notice comes too early.
        let channels = self.shared.add_channels(name, self.id);
        // A replica in a cluster lets its clients listen, but a message on its primary
        // counts those there only. The key shows where the primary is.
        let mut look = cmd("EXISTS");
        look.arg(Keys::new(name).settings());
        for _ in 0..TRIES {
            let mut reply = node.send(&look).await?;
            self.shared.check()?;
            let mut heard = 0;
            for channel in &channels {
                if error_of(&reply).is_some() {
                    break;
                }
                reply = node.send(cmd("SSUBSCRIBE").arg(channel)).await?;
                self.shared.check()?;
                let is_heard = matches!(&reply, Value::Push { kind: PushKind::SSubscribe, data }
                    if data.first().and_then(text_of) == Some(channel));
                heard += usize::from(is_heard);
            }
            if heard == channels.len() {
                // The scripts publish too. Without that right, units would never reach those that
                // wait for them.
                reply = node.send(cmd("SPUBLISH").arg(&channels[0]).arg("")).await?;
                self.shared.check()?;
            }
            match &reply {
                Value::Int(_) if heard == channels.len() => {
                    self.shared.set_route(name, &node, true)?;
                    return Ok(node.server);
                }
                Value::ServerError(error) => match route::moved(error) {
                    // Notices from there may come after the answers from elsewhere.
                    Some(_) if is_listened => return Err(StoreError::UNREACHABLE),
                    Some(address) => node = self.follow(&node, address).await?,
                    None => return Err(of_server(error)),
                },
                _ => return Err(StoreError::MALFORMED),
            }
        }
        Err(refused("MOVED"))
    }

    /// Ends the subscriptions of a name, but not on a cluster: there, a server can end them by
    /// itself at the same moment, and the two messages look the same.
    async fn unsubscribe(&self, name: &Name) -> Result<(), StoreError> {
        let Route { node, is_listened } = self.shared.route(name)?;
        if !is_listened || node.is_cluster {
            return Ok(());
        }
        for channel in self.shared.remove_channels(name, self.id) {
            let reply = node.send(cmd("SUNSUBSCRIBE").arg(&channel)).await?;
            self.shared.check()?;
            match &reply {
                Value::Push { kind: PushKind::SUnsubscribe, .. } => {}
                Value::ServerError(error) => return Err(of_server(error)),
                _ => return Err(StoreError::MALFORMED),
            }
        }
        Ok(())
    }

    async fn run(&self, name: &Name, call: encode::Call) -> Result<Value, StoreError> {
        let Route { mut node, is_listened } = self.shared.route(name)?;
        let keys = Keys::new(name).all();
        let mut arguments = vec![keys.len().to_string()];
        arguments.extend(keys);
        arguments.extend(call.arguments);
        for _ in 0..TRIES {
            let reply = node.call(call.script.source(), &arguments, None, false).await?;
            self.shared.check()?;
            let Some(error) = error_of(&reply) else { return Ok(reply) };
            let address = route::moved(error).ok_or_else(|| of_server(error))?;
            // A name that has moved ends the link: its notices come from its old node. Otherwise,
            // the server has refused the command, so it may be sent again: no other statement of
            // this process is on the way.
            if is_listened {
                return Err(StoreError::UNREACHABLE);
            }
            node = self.follow(&node, address).await?;
            self.shared.set_route(name, &node, false)?;
        }
        Err(refused("MOVED"))
    }
}

impl Link for RedisLink {
    async fn listen(&self, name: &Name) -> Result<Server, StoreError> {
        self.judge(self.subscribe(name).await)
    }

    async fn unlisten(&self, name: &Name) -> Result<(), StoreError> {
        self.judge(self.unsubscribe(name).await)
    }

    async fn sync(&self, name: &Name, statement: Statement) -> Result<share::Answer, StoreError> {
        let reply = self.run(name, encode::sync(&statement)).await;
        self.judge(reply.and_then(|reply| decode::reply(&statement, &reply)))
    }

    async fn resize(
        &self,
        name: &Name,
        limit: u32,
        expected: Version,
    ) -> Result<Result<Version, LimitRefusal>, StoreError> {
        let reply = self.run(name, encode::resize(limit, expected)).await;
        self.judge(reply.and_then(|reply| decode::resized(&reply)))
    }

    async fn look(&self, name: &Name) -> Result<Option<share::Status>, StoreError> {
        let state = self.judge(self.run(name, encode::look()).await.and_then(|reply| decode::state(&reply)))?;
        let (now, Some(texts)) = state else { return Ok(None) };
        let allocator = Allocator::of_texts(&texts).ok_or_else(|| refused("MALFORMED"))?;
        Ok(allocator.status(now))
    }
}
