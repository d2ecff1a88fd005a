//! Bulklink, by what it offers to every program.

use std::time::Duration;

use bulklink_postgres::PostgresStore;
use bulklink_redis::{ConnectError, Fleet, FleetBulkhead, LeaseStore, Reason, RedisStore};
use bulklink_tokio::{Request, Tokio};

use super::{NAMESPACE, Refusal, Scheme};
use crate::record::Reply;
use crate::task::{Kind, Task};

/// How many calls may wait in the whole fleet.
const WAITING_ROOM: usize = 10_000;

const TRIES: u32 = 5;

/// The scheme.
#[derive(Debug)]
pub struct Ours {
    fleet: Fleet<Tokio>,
    bulkhead: FleetBulkhead<Tokio>,
}

impl Ours {
    /// Connects.
    ///
    /// # Errors
    ///
    /// Fails if there is no server.
    pub async fn connect(task: &Task) -> anyhow::Result<Self> {
        match task.kind {
            Kind::Postgres => {
                let patient = PostgresStore::builder(&task.url).connect_timeout(Duration::from_secs(10));
                Self::on(patient.build()?, task).await
            }
            _ => Self::on(RedisStore::new(&task.url)?, task).await,
        }
    }

    async fn on<S: LeaseStore + Clone>(store: S, task: &Task) -> anyhow::Result<Self> {
        // Renewed four times in a lease, so that one beat may be late.
        let (claim, beat) = (task.ttl / 2, task.ttl / 4);
        // In a storm, the first connection may be cut.
        for tries in 1.. {
            let fleet = Fleet::builder(store.clone(), Tokio).namespace(NAMESPACE).process("contest").build()?;
            let bulkhead = fleet.bulkhead(&task.name).limit(task.limit).waiting_room(WAITING_ROOM);
            let bulkhead = bulkhead.lease(task.ttl).claim(claim).beat(beat).reuse(task.reuse.into());
            match bulkhead.connect().await {
                Err(ConnectError::Unavailable) if tries < TRIES => {}
                result => return Ok(Ours { bulkhead: result?, fleet }),
            }
        }
        unreachable!("the last try returns")
    }
}

impl Scheme for Ours {
    type Permit = bulklink_redis::Permit;

    async fn acquire(&self, cost: u16, wait: Option<Duration>) -> Result<bulklink_redis::Permit, Refusal> {
        let request = Request::new().cost(cost.into());
        let request = wait.map_or(request.now(), |wait| request.within(wait));
        self.bulkhead.acquire_with(request).await.map_err(|rejection| match rejection.reason() {
            Reason::Saturated => Refusal::Saturated,
            _ => Refusal::Other,
        })
    }

    async fn close(&self) {
        self.bulkhead.close().await;
        self.fleet.close().await;
    }
}

impl super::Permit for bulklink_redis::Permit {
    fn reply(&self) -> Reply {
        // Its token says in which order it was granted.
        Reply::Admitted { not_before: 0, token: self.token().map_or(0, u64::from) }
    }

    fn is_valid(&self) -> bool {
        bulklink_redis::Permit::is_valid(self)
    }

    async fn release(self) -> bool {
        bulklink_redis::Permit::release(self).await
    }
}
