//! The task of a worker process.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::record::Client;

/// How many processes a contest has, unless a scene has another number.
pub const PROCESSES: u32 = 4;

/// How a limit is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Bulklink on Redis.
    Ours,
    /// Bulklink on PostgreSQL.
    Postgres,
    /// A hash with a field for each lease; HSET and HLEN, HDEL if there are too many, and again
    /// after 10 ms: as `HawkAPI` does it.
    Polling,
    /// A sorted set, and a message with each release, upon which all waiters ask again.
    Broadcast,
    /// The same, but one waiter of each process asks again: as Redisson does it.
    Latch,
    /// A token that goes round, with a message from each process to the next.
    Message,
}

impl Kind {
    /// Returns the name of the scheme in tables.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Ours => "Bulklink",
            Kind::Postgres => "on PostgreSQL",
            Kind::Polling => "as HawkAPI",
            Kind::Broadcast => "broadcast, all retry",
            Kind::Latch => "as Redisson",
            Kind::Message => "a bare message",
        }
    }

    /// Returns the commands of which each is one round trip of a client, in lower case. HSET and
    /// HLEN travel together.
    pub fn trips(self) -> &'static [&'static str] {
        match self {
            Kind::Polling => &["hlen", "hdel"],
            Kind::Message => &["publish"],
            // Another server, which does not count them.
            Kind::Postgres => &[],
            Kind::Ours | Kind::Broadcast | Kind::Latch => &["evalsha"],
        }
    }
}

/// The work of the clients of one process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    /// The scheme.
    pub kind: Kind,
    /// The server.
    pub url: String,
    /// The name of the bulkhead.
    pub name: String,
    /// Its limit.
    pub limit: u64,
    /// The number of clients.
    pub clients: u32,
    /// The number of the first client.
    pub first: u32,
    /// Costs are from one unit to this many.
    pub costs: u16,
    /// The mean time between two calls of a client, spread evenly from zero to twice that.
    pub think: Duration,
    /// How long a client holds its permit.
    pub hold: Duration,
    /// Whether holds differ, from zero to twice `hold`.
    pub is_random: bool,
    /// How long a call waits. `None` if it does not wait.
    pub wait: Option<Duration>,
    /// How long a lease is valid.
    pub ttl: Duration,
    /// The number of calls of each client; `None` until the end.
    pub calls: Option<u64>,
    /// How often a holder looks whether its permit is valid; only at its end if that is `None`.
    pub look: Option<Duration>,
    /// Whether units that are free go back at once, which a limit of one for each operation wants.
    pub is_strict: bool,
    /// Whether each record is written before the client goes on.
    pub is_durable: bool,
    /// Where the records are written.
    pub file: PathBuf,
}

impl Task {
    /// Returns the clients.
    pub fn clients(&self) -> impl Iterator<Item = Client> + use<> {
        let (costs, waits) = (u32::from(self.costs.max(1)), self.wait.is_some());
        (self.first..self.first + self.clients).map(move |number| {
            let cost = u16::try_from(number % costs).unwrap_or(0) + 1;
            Client { number, cost, waits }
        })
    }
}
