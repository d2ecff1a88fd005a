//! A hash with a field for each lease. A call inserts its own and counts them, in one pipeline; if
//! there are too many it removes its own and, if it waits, tries again after 10 ms. `HawkAPI` does
//! this, and calls it deliberately sloppy.

use std::rc::Rc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use tokio::time::{Instant, sleep};

use super::{Lease, Leases, Refusal, Scheme};
use crate::now;

const PAUSE: Duration = Duration::from_millis(10);

/// The scheme.
#[derive(Debug)]
pub struct Polling(Rc<Hash>);

/// The hash on the server.
#[derive(Debug)]
pub struct Hash {
    connection: MultiplexedConnection,
    key: String,
    limit: u64,
}

impl Polling {
    /// Connects.
    ///
    /// # Errors
    ///
    /// Fails if there is no server.
    pub async fn connect(url: &str, name: &str, limit: u64) -> redis::RedisResult<Self> {
        let connection = super::connect(url, || {}).await?;
        Ok(Polling(Rc::new(Hash { connection, key: format!("polling:{name}"), limit })))
    }
}

impl Leases for Hash {
    async fn insert(&self, lease: &str) -> redis::RedisResult<bool> {
        let mut pipeline = redis::pipe();
        pipeline.hset(&self.key, lease, now()).ignore().hlen(&self.key);
        let (count,): (u64,) = pipeline.query_async(&mut self.connection.clone()).await?;
        if count > self.limit {
            self.remove(lease).await?;
        }
        Ok(count <= self.limit)
    }

    async fn remove(&self, lease: &str) -> redis::RedisResult<()> {
        redis::cmd("HDEL").arg(&self.key).arg(lease).exec_async(&mut self.connection.clone()).await
    }
}

impl Scheme for Polling {
    type Permit = Lease<Hash>;

    async fn acquire(&self, _cost: u16, wait: Option<Duration>) -> Result<Lease<Hash>, Refusal> {
        let deadline = wait.map(|wait| Instant::now() + wait);
        loop {
            match (Lease::attempt(&self.0).await, deadline) {
                (Err(Refusal::Saturated), Some(deadline)) if Instant::now() + PAUSE < deadline => sleep(PAUSE).await,
                (Err(Refusal::Saturated), Some(_)) => return Err(Refusal::Other),
                (result, _) => return result,
            }
        }
    }

    async fn close(&self) {}
}
