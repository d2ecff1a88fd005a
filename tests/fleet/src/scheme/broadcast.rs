//! A sorted set of leases with the time of their end, one script that inserts if there is room, and
//! a message with each release, upon which waiters ask again.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::{Lease, Leases, Refusal, Scheme};

const INSERT: &str = "
    local time = redis.call('TIME')
    local now = time[1] * 1000000 + time[2]
    redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
    if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
    redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[3]), ARGV[1])
    return 1";

const REMOVE: &str = "
    if redis.call('ZREM', KEYS[1], ARGV[1]) == 1 then redis.call('PUBLISH', KEYS[1], 1) end
    return 1";

/// Where a message is lost, a waiter asks after this time.
const PATIENCE: Duration = Duration::from_secs(1);

/// The scheme.
#[derive(Debug)]
pub struct Broadcast {
    set: Rc<Set>,
    news: Arc<News>,
}

/// The set on the server.
#[derive(Debug)]
pub struct Set {
    connection: MultiplexedConnection,
    key: String,
    limit: u64,
    ttl: Duration,
    insert: redis::Script,
    remove: redis::Script,
}

/// How the waiters of a process learn of a release.
#[derive(Debug)]
enum News {
    All(Notify),
    /// A message wakes one, if one waits. The one that it wakes stays awake until then.
    One {
        latch: Semaphore,
        waiters: AtomicUsize,
    },
}

impl News {
    fn arrive(&self) {
        match self {
            News::All(notify) => notify.notify_waiters(),
            News::One { latch, waiters } => latch.add_permits(waiters.load(Ordering::Relaxed).min(1)),
        }
    }
}

impl Broadcast {
    /// Connects. Each message lets all waiters of the process ask again, or only one.
    ///
    /// # Errors
    ///
    /// Fails if there is no server.
    pub async fn connect(
        url: &str,
        name: &str,
        limit: u64,
        ttl: Duration,
        wakes_all: bool,
    ) -> redis::RedisResult<Self> {
        let one = News::One { latch: Semaphore::new(0), waiters: AtomicUsize::new(0) };
        let news = Arc::new(if wakes_all { News::All(Notify::new()) } else { one });
        let shared = Arc::clone(&news);
        let mut connection = super::connect(url, move || shared.arrive()).await?;
        let key = format!("broadcast:{name}");
        connection.subscribe(&key).await?;
        let (insert, remove) = (redis::Script::new(INSERT), redis::Script::new(REMOVE));
        insert.load_async(&mut connection).await?;
        remove.load_async(&mut connection).await?;
        Ok(Broadcast { set: Rc::new(Set { connection, key, limit, ttl, insert, remove }), news })
    }
}

impl Leases for Set {
    async fn insert(&self, lease: &str) -> redis::RedisResult<bool> {
        let micros = u64::try_from(self.ttl.as_micros()).unwrap_or(u64::MAX);
        let mut call = self.insert.key(&self.key);
        call.arg(lease).arg(self.limit).arg(micros).invoke_async(&mut self.connection.clone()).await
    }

    async fn remove(&self, lease: &str) -> redis::RedisResult<()> {
        self.remove.key(&self.key).arg(lease).invoke_async(&mut self.connection.clone()).await
    }
}

impl Scheme for Broadcast {
    type Permit = Lease<Set>;

    async fn acquire(&self, _cost: u16, wait: Option<Duration>) -> Result<Lease<Set>, Refusal> {
        let Some(wait) = wait else { return Lease::attempt(&self.set).await };
        let deadline = Instant::now() + wait;
        loop {
            // Listens before it asks, so that no message between is missed.
            let again = deadline.min(Instant::now() + PATIENCE);
            let result = match &*self.news {
                News::All(notify) => {
                    let mut message = std::pin::pin!(notify.notified());
                    message.as_mut().enable();
                    let result = Lease::attempt(&self.set).await;
                    if result.is_err() {
                        let _ = timeout_at(again, message).await;
                    }
                    result
                }
                News::One { latch, waiters } => {
                    waiters.fetch_add(1, Ordering::Relaxed);
                    let result = Lease::attempt(&self.set).await;
                    if result.is_err()
                        && let Ok(Ok(permit)) = timeout_at(again, latch.acquire()).await
                    {
                        permit.forget();
                    }
                    waiters.fetch_sub(1, Ordering::Relaxed);
                    result
                }
            };
            match result {
                Err(Refusal::Saturated) if Instant::now() < deadline => {}
                Err(_) => return Err(Refusal::Other),
                admitted => return admitted,
            }
        }
    }

    async fn close(&self) {}
}
