//! Servers, and how processes share a circuit on them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bulklink_breaker::{Breaker, Settings};
use bulklink_circuits::Subject;
use bulklink_fleet::Name;
use bulklink_fleet::circuits::{CircuitStore, Circuits};
use bulklink_postgres::Part;
use bulklink_postgres::PostgresStore;
use bulklink_postgres::breaker::PostgresCircuits;
use bulklink_redis::RedisStore;
use bulklink_redis::breaker::RedisCircuits;
use bulklink_servers::{Missing, Postgres, Server};
use bulklink_tokio::Tokio;
use serde::{Deserialize, Serialize};
use tokio::runtime::{Builder, Runtime};

use crate::now;

/// Much time for an answer, because the machine is busy.
const PATIENCE: Duration = Duration::from_secs(20);

/// The namespace of all circuits here.
const NAMESPACE: &str = "contest";

/// Where a circuit is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// On PostgreSQL.
    Postgres,
    /// On Redis.
    Redis,
}

impl Kind {
    /// Both.
    pub const ALL: [Kind; 2] = [Kind::Postgres, Kind::Redis];

    /// Returns the name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Postgres => "PostgreSQL",
            Kind::Redis => "Redis",
        }
    }
}

/// A server of each kind.
#[derive(Debug)]
pub struct Ground {
    program: PathBuf,
    pub(super) postgres: Arc<Postgres>,
    pub(super) redis: Arc<Server>,
}

impl Ground {
    /// Starts the servers. Probers are processes of `program prober`.
    ///
    /// # Errors
    ///
    /// Fails if this machine has no server of one kind.
    pub fn start(program: PathBuf) -> Result<Self, Missing> {
        let redis = Server::start()?;
        let postgres = Postgres::builder().config("max_connections", "60").start()?;
        postgres.sql(&Part::Breaker.statements());
        postgres.sql(&Part::Breaker.grants("tests"));
        Ok(Ground { program, postgres: Arc::new(postgres), redis: Arc::new(redis) })
    }

    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    pub(super) fn url(&self, kind: Kind) -> String {
        match kind {
            Kind::Postgres => self.postgres.url(),
            Kind::Redis => self.redis.url(),
        }
    }
}

pub(super) fn postgres(url: &str) -> PostgresCircuits {
    let store = PostgresStore::builder(url).connect_timeout(PATIENCE).build();
    store.expect("the URL of a private server").circuits().answer_timeout(PATIENCE)
}

pub(super) fn redis(url: &str) -> RedisCircuits {
    RedisStore::new(url).expect("the URL of a private server").circuits().answer_timeout(PATIENCE)
}

/// Returns a runtime with a thread of its own, as each process has one.
pub(super) fn runtime() -> Result<Runtime> {
    Ok(Builder::new_multi_thread().worker_threads(1).enable_all().build()?)
}

/// A process that shares a circuit.
pub(super) struct Member {
    pub(super) breaker: Breaker,
    pub(super) runtime: Runtime,
}

impl Member {
    /// Returns when the store has answered.
    pub(super) fn join(store: impl CircuitStore, label: &str, settings: Settings) -> Result<Self> {
        let runtime = runtime()?;
        let entered = runtime.enter();
        let circuits = Circuits::builder(store, Tokio).namespace(NAMESPACE).store_timeout(PATIENCE).build()?;
        let breaker = circuits.share(Breaker::builder_on(Tokio, label).settings(settings))?;
        drop(entered);
        let is_connected = || breaker.status().is_connected == Some(true);
        wait_until(is_connected).context("the store does not answer")?;
        Ok(Member { breaker, runtime })
    }
}

/// Waits until a condition holds.
pub(super) fn wait_until(holds: impl Fn() -> bool) -> Result<()> {
    let patience = now() + 30_000_000_000;
    while !holds() {
        ensure!(now() < patience, "it takes longer than 30 s");
        sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// A place for the suite of all stores, on the clock of its server.
#[derive(Clone, Debug)]
pub struct Site<F> {
    connect: F,
    runtime: Arc<Runtime>,
}

impl<F> Site<F> {
    /// A site with stores that `connect` makes.
    ///
    /// # Errors
    ///
    /// Fails if no thread can be started.
    pub fn new(connect: F) -> Result<Self> {
        Ok(Site { connect, runtime: Arc::new(runtime()?) })
    }
}

impl<S: CircuitStore, F: Fn() -> S + Clone + Send + Sync + 'static> Subject for Site<F> {
    type Store = S;

    fn store(&self) -> S {
        (self.connect)()
    }

    /// The server's clock goes on by itself.
    fn set_now(&self, _: u64) {}

    fn lose(&self, _: &Name) {
        unreachable!("no scene loses a row");
    }

    fn block_on<T: Future>(&self, future: T) -> T::Output {
        self.runtime.block_on(future)
    }
}
