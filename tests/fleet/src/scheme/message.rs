//! A token that goes round all processes, with one message from each to the next: the least that a
//! hand-off can take. There is no limit, and nothing is kept.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use tokio::sync::Semaphore;

use super::{Permit, Refusal, Scheme};
use crate::now;
use crate::record::Reply;
use crate::task::{PROCESSES, Task};
use crate::witness::Nanos;

/// The scheme.
#[derive(Debug)]
pub struct Message(Rc<Ring>);

/// The place of a process among the others.
#[derive(Debug)]
struct Ring {
    connection: MultiplexedConnection,
    /// The channel of the next process.
    next: String,
    /// Each message adds a permit.
    arrived: Arc<Semaphore>,
}

impl Message {
    /// Connects.
    ///
    /// # Errors
    ///
    /// Fails if there is no server.
    pub async fn connect(task: &Task) -> redis::RedisResult<Self> {
        let place = task.first / task.clients;
        // The token begins with the first process.
        let arrived = Arc::new(Semaphore::new(usize::from(place == 0)));
        let shared = Arc::clone(&arrived);
        let mut connection = super::connect(&task.url, move || shared.add_permits(1)).await?;
        let channel = |place: u32| format!("message:{}:{}", task.name, place % PROCESSES);
        connection.subscribe(channel(place)).await?;
        Ok(Message(Rc::new(Ring { connection, next: channel(place + 1), arrived })))
    }
}

/// The token.
#[derive(Debug)]
pub struct Held {
    ring: Rc<Ring>,
    at: Nanos,
}

impl Scheme for Message {
    type Permit = Held;

    async fn acquire(&self, _cost: u16, _wait: Option<Duration>) -> Result<Held, Refusal> {
        let arrived = self.0.arrived.acquire().await;
        arrived.map_err(|_| Refusal::Other)?.forget();
        Ok(Held { ring: Rc::clone(&self.0), at: now() })
    }

    async fn close(&self) {}
}

impl Permit for Held {
    fn reply(&self) -> Reply {
        Reply::Admitted { not_before: self.at, token: 0 }
    }

    fn is_valid(&self) -> bool {
        true
    }

    async fn release(self) -> bool {
        let mut connection = self.ring.connection.clone();
        let mut publish = redis::cmd("PUBLISH");
        publish.arg(&self.ring.next).arg("").query_async::<()>(&mut connection).await.is_ok()
    }
}
