//! Bulklink: an ordinary bulkhead in each process, with a share of the limit.

use std::time::Duration;

use bulklink_fleet::share::Tuning;
use bulklink_postgres::PostgresStore;
use bulklink_redis::{Fleet, FleetShare, LeaseStore, RedisStore};
use bulklink_tokio::{Bulkhead, OwnedSlot, Request, Tokio};

use super::{NAMESPACE, Permit, Refusal, Scheme};
use crate::record::Reply;
use crate::task::{Kind, Task};

/// How many calls may wait in a process.
const WAITING_ROOM: usize = 10_000;

/// How long a call that does not wait for others waits for the store.
const FETCH: Duration = Duration::from_millis(10);

/// The scheme.
#[derive(Debug)]
pub struct Ours {
    fleet: Fleet<Tokio>,
    bulkhead: Bulkhead,
    share: FleetShare<Tokio>,
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

    async fn on(store: impl LeaseStore, task: &Task) -> anyhow::Result<Self> {
        let fleet = Fleet::builder(store, Tokio).namespace(NAMESPACE).process("contest").build()?;
        let limit = usize::try_from(task.limit)?;
        let bulkhead = Bulkhead::builder(&task.name).parallelism(limit).waiting_room(WAITING_ROOM).build()?;
        // Renewed four times in a lease, so that one beat may be late.
        let tuning = Tuning::default().with_beat(task.ttl / 4);
        let share = fleet.share(&bulkhead).limit(limit).lease(task.ttl).claim(task.ttl / 2);
        let share = share.tuning(if task.is_strict { tuning.strict() } else { tuning });
        // In a storm, the first connections may be cut.
        let share = share.connect_within(Duration::from_secs(20)).connect().await?;
        Ok(Ours { fleet, bulkhead, share })
    }
}

/// A slot of a bulkhead with a share.
#[derive(Debug)]
pub struct Held {
    slot: OwnedSlot,
    share: FleetShare<Tokio>,
    token: u64,
    losses: u64,
}

impl Held {
    /// `None` if the lease has ended: a process that was stopped admits until its timer has run.
    fn of(slot: OwnedSlot, share: &FleetShare<Tokio>) -> Option<Self> {
        let losses = share.status().lost;
        let token = share.token()?;
        // Both in one number, in their order: a grant is at most a time in microseconds.
        let token = u64::from(token.grant) << 12 | token.number.min(0xfff);
        Some(Held { slot, share: share.clone(), token, losses })
    }
}

impl Scheme for Ours {
    type Permit = Held;

    async fn acquire(&self, cost: u16, wait: Option<Duration>) -> Result<Held, Refusal> {
        loop {
            let request = Request::new().cost(cost.into()).within(wait.unwrap_or(FETCH));
            let slot = self.bulkhead.with(request).slot().await;
            let refusal = if wait.is_none() { Refusal::Saturated } else { Refusal::Other };
            if let Some(held) = Held::of(slot.map_err(|_| refusal)?, &self.share) {
                return Ok(held);
            }
        }
    }

    async fn close(&self) {
        self.fleet.close().await;
    }
}

impl Permit for Held {
    fn reply(&self) -> Reply {
        // Its token has the order of its admission.
        Reply::Admitted { not_before: 0, token: self.token }
    }

    fn is_valid(&self) -> bool {
        let status = self.share.status();
        status.lost == self.losses && status.granted > 0
    }

    async fn release(self) -> bool {
        drop(self.slot);
        true
    }
}
