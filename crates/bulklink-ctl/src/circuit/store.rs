//! The circuits of a server, on either store.

use std::time::Duration;

use bulklink_fleet::circuits::{CircuitStore, Force, Forced, Row};
use bulklink_fleet::{Name, Namespace};
use bulklink_postgres::breaker::PostgresCircuits;
use bulklink_postgres::{Check, Part, PostgresStore};
use bulklink_redis::RedisStore;
use bulklink_redis::breaker::RedisCircuits;

use crate::failure::{Failure, Kind};
use crate::server::{self, Server};
use crate::share::link;

/// The circuits on a server.
pub(crate) enum Store {
    Redis { store: Box<RedisStore>, circuits: RedisCircuits, timeout: Duration },
    Postgres { store: Box<PostgresStore>, circuits: Box<PostgresCircuits> },
}

impl Store {
    pub(crate) fn of(server: &Server) -> Result<Self, Failure> {
        if server.kind == server::Kind::Postgres {
            let store = server.postgres()?;
            let circuits = store.circuits().answer_timeout(server.timeout);
            return Ok(Store::Postgres { store: Box::new(store), circuits: Box::new(circuits) });
        }
        let store = server.redis()?;
        let circuits = store.circuits().answer_timeout(server.timeout);
        Ok(Store::Redis { store: Box::new(store), circuits, timeout: server.timeout })
    }

    pub(crate) fn address(&self) -> String {
        match self {
            Store::Redis { store, .. } => store.address(),
            Store::Postgres { store, .. } => store.address(),
        }
    }

    /// Looks whether circuits can be shared. On Redis, that needs no more than an answer.
    pub(crate) async fn check(&self) -> Check {
        match self {
            Store::Redis { store, timeout, .. } => match link(&**store, *timeout).await {
                Ok(_) => Check::Complete,
                Err(error) => Check::Undetermined { error },
            },
            Store::Postgres { store, .. } => store.check(Part::Breaker).await,
        }
    }

    /// All circuits of a namespace, in order.
    pub(crate) async fn list(&self, namespace: &Namespace) -> Result<Vec<(Name, Row)>, Failure> {
        let rows = match self {
            Store::Redis { circuits, .. } => circuits.list(namespace).await,
            Store::Postgres { circuits, .. } => circuits.list(namespace).await,
        };
        rows.map_err(|error| Failure::store(&self.address(), &error))
    }

    /// Opens or closes a circuit, if it has the expected generation.
    pub(crate) async fn force(&self, name: &Name, expected: Option<u64>, force: Force) -> Result<Row, Failure> {
        let forced = match self {
            Store::Redis { circuits, .. } => circuits.force(name, expected, force).await,
            Store::Postgres { circuits, .. } => circuits.force(name, expected, force).await,
        };
        match forced.map_err(|error| Failure::change(&self.address(), &error, "circuit"))? {
            Forced::Done(row) => Ok(row),
            Forced::Stale(row) => Err(stale(expected, &row)),
        }
    }
}

fn stale(expected: Option<u64>, row: &Row) -> Failure {
    let expected = expected.map_or_else(|| "another".to_owned(), |generation| generation.to_string());
    let (generation, state) = (row.generation, row.state);
    Failure::new(
        Kind::Conflict,
        format!("the circuit has generation {generation}, not {expected}: it is {state} now, and was not changed"),
    )
}
