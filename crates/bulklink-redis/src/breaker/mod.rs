//! Circuits that processes share, on Redis (7.0 or later) or Valkey (7.2 or later).
//!
//! A circuit is one hash, and lives beside the bulkhead of the same name. Each operation is one
//! script, on the server's clock. Transitions are published with the whole row.
//!
//! On a cluster, a circuit is followed where its slot has moved (`MOVED`) and while it is being
//! moved (`ASK`). An operation is sent again only if it was refused. Sentinel is not supported:
//! [`RedisStore`](crate::RedisStore#clusters-and-failover) names the alternatives.
//!
//! # Rights
//!
//! Beside those of a bulkhead, the user of a service needs `+subscribe` and `+publish`; on a
//! cluster, `+asking`, or operations are refused while their slot moves; to list circuits, also
//! `+scan` and `+cluster|slots`.

mod changes;
mod connections;
mod scripts;
mod wire;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bulklink_breaker::Settings;
use bulklink_fleet::circuits::{CircuitStore, Operation, Reply, Row, numbers};
use bulklink_fleet::{Name, Namespace, StoreError};
use redis::{ConnectionInfo, Value};

pub use self::changes::RedisChanges;
use self::connections::Connections;
use self::scripts::{Script, Scripts};
use crate::keys::{Keys, circuits_channel};
use crate::list::{self, CIRCUITS};

/// How long an answer may take, unless the store has another limit.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

/// The circuits on a server; returned by [`RedisStore::circuits`](crate::RedisStore::circuits).
///
/// Clones share their connections. There is one to each server that has circuits in use, and one
/// for each subscription.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use bulklink_breaker::Settings;
/// use bulklink_fleet::circuits::CircuitStore;
/// use bulklink_fleet::{Name, Namespace};
/// use bulklink_redis::RedisStore;
///
/// let circuits = RedisStore::new("redis://localhost")?.circuits();
/// let name = Name::new(&Namespace::new("prod")?, "payments")?;
/// let row = circuits.load(&name, &Settings::consecutive(5)).await?;
/// println!("{}", row.state);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RedisCircuits {
    connections: Arc<Connections>,
    scripts: Arc<Scripts>,
    timeout: Duration,
    /// Where tests have the time of the scripts.
    clock: Option<String>,
}

/// Shows no credentials.
impl fmt::Debug for RedisCircuits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisCircuits")
            .field("address", &self.connections.info.addr().to_string())
            .field("answer_timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

impl RedisCircuits {
    pub(crate) fn new(info: ConnectionInfo, connect_timeout: Duration) -> Self {
        RedisCircuits {
            connections: Arc::new(Connections::new(info, connect_timeout)),
            scripts: Arc::new(Scripts::new(Cow::Borrowed)),
            timeout: ANSWER_TIMEOUT,
            clock: None,
        }
    }

    /// Sets how long an answer may take: 500 ms by default. Then the operation fails with
    /// [`StoreError::TIMED_OUT`], and the next one connects anew.
    #[must_use]
    pub fn answer_timeout(self, timeout: Duration) -> Self {
        RedisCircuits { timeout, ..self }
    }

    /// Reads the time from a list of seconds and microseconds.
    pub(crate) fn with_clock(self, key: &str) -> Self {
        let changed = |text: &str| text.replace("call('TIME')", "call('LRANGE', KEYS[2], 0, 1)").into();
        RedisCircuits { scripts: Arc::new(Scripts::new(changed)), clock: Some(key.to_owned()), ..self }
    }

    async fn call(
        &self,
        name: &Name,
        settings: Option<&Settings>,
        script: Script,
        rest: Vec<String>,
    ) -> Result<Value, StoreError> {
        let label = name.as_str().split_once(':').unwrap_or_default().1;
        let mut arguments = vec![(1 + self.clock.iter().len()).to_string(), Keys::new(name).circuit()];
        arguments.extend(self.clock.clone());
        arguments.push(settings.map(numbers::text).transpose()?.unwrap_or_default());
        arguments.extend([circuits_channel(name.namespace()), label.to_owned()]);
        arguments.extend(rest);
        self.connections.call(name, self.scripts.get(script), self.timeout, &arguments).await
    }
}

impl CircuitStore for RedisCircuits {
    type Changes = RedisChanges;

    async fn operate(
        &self,
        name: &Name,
        settings: Option<&Settings>,
        operation: &Operation,
    ) -> Result<Reply, StoreError> {
        let (script, rest) = wire::script(operation);
        wire::reply(&self.call(name, settings, script, rest).await?)
    }

    async fn changes(&self, namespace: &Namespace) -> Result<RedisChanges, StoreError> {
        RedisChanges::subscribe(&self.connections, namespace).await
    }

    async fn list(&self, namespace: &Namespace) -> Result<Vec<(Name, Row)>, StoreError> {
        let Connections { info, connect_timeout, .. } = &*self.connections;
        let mut rows = Vec::new();
        for name in list::names(info, *connect_timeout, CIRCUITS, Some(namespace)).await? {
            match self.call(&name, None, Script::Read, vec![]).await {
                Ok(Value::Nil) => {}
                Ok(reply) => rows.push((name, wire::reply(&reply)?.row)),
                // The key is none of ours.
                Err(error) if error.code() == Some("ERR") => {}
                Err(error) => return Err(error),
            }
        }
        Ok(rows)
    }
}
