//! Where circuits are: on Redis or on PostgreSQL, by the URL.

use std::time::Duration;

use bulklink_fleet::circuits::{CircuitStore, Force, Forced, Row};
use bulklink_fleet::{Name, Namespace, StoreError};
use bulklink_postgres::Part;
use bulklink_postgres::breaker::{Check, PostgresCircuits};
use bulklink_redis::RedisStore;
use bulklink_redis::breaker::RedisCircuits;

use crate::client;
use crate::failure::{Failure, Kind};

/// What a URL names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    Redis,
    Postgres,
}

impl Server {
    pub(crate) fn of(url: &str) -> Self {
        let is_postgres = ["postgresql://", "postgres://"].iter().any(|scheme| url.starts_with(scheme));
        if is_postgres { Server::Postgres } else { Server::Redis }
    }
}

/// The circuits on a server.
pub(crate) enum Store {
    Redis { store: Box<RedisStore>, circuits: RedisCircuits, timeout: Duration },
    Postgres(PostgresCircuits),
}

impl Store {
    pub(crate) fn redis(store: RedisStore, timeout: Duration) -> Self {
        let circuits = store.circuits().answer_timeout(timeout);
        Store::Redis { store: Box::new(store), circuits, timeout }
    }

    pub(crate) fn address(&self) -> String {
        match self {
            Store::Redis { store, .. } => store.address(),
            Store::Postgres(circuits) => circuits.address(),
        }
    }

    /// Creates tables, and gives roles their rights. On Redis, there is nothing to create.
    pub(crate) async fn set_up(&self, parts: &[Part], roles: &[&str]) -> Result<(), Failure> {
        match self {
            Store::Redis { .. } => Ok(()),
            Store::Postgres(circuits) => circuits.set_up_for(parts, roles).await.map_err(|error| self.failure(&error)),
        }
    }

    /// Looks whether circuits can be shared. On Redis, that needs no more than an answer.
    pub(crate) async fn check(&self) -> Check {
        match self {
            Store::Redis { store, timeout, .. } => match client::link(store, *timeout).await {
                Ok(_) => Check::Complete,
                Err(error) => Check::Undetermined { error },
            },
            Store::Postgres(circuits) => circuits.check().await,
        }
    }

    /// All circuits of a namespace, in order.
    pub(crate) async fn list(&self, namespace: &Namespace) -> Result<Vec<(Name, Row)>, Failure> {
        let rows = match self {
            Store::Redis { circuits, .. } => circuits.list(namespace).await,
            Store::Postgres(circuits) => circuits.list(namespace).await,
        };
        rows.map_err(|error| self.failure(&error))
    }

    /// Opens or closes a circuit, if it has the expected generation.
    pub(crate) async fn force(&self, name: &Name, expected: Option<u64>, force: Force) -> Result<Row, Failure> {
        let forced = match self {
            Store::Redis { circuits, .. } => circuits.force(name, expected, force).await,
            Store::Postgres(circuits) => circuits.force(name, expected, force).await,
        };
        match forced.map_err(|error| self.uncertain(&error))? {
            Forced::Done(row) => Ok(row),
            Forced::Stale(row) => Err(stale(expected, &row)),
        }
    }

    /// An operation that got no answer may have had its effect.
    fn uncertain(&self, error: &StoreError) -> Failure {
        let failure = self.failure(error);
        match failure.kind() {
            Kind::Unreachable => Failure::new(Kind::Unreachable, format!("{failure}; the circuit may have changed")),
            _ => failure,
        }
    }

    fn failure(&self, error: &StoreError) -> Failure {
        let failure = Failure::store(&self.address(), error);
        match (self, error) {
            (Store::Postgres(_), StoreError::Refused { code }) => {
                meaning(code).map_or(failure.clone(), |text| Failure::new(failure.kind(), format!("{failure}, {text}")))
            }
            _ => failure,
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

/// What an operator can do about a refusal of PostgreSQL.
fn meaning(code: &str) -> Option<&'static str> {
    Some(match code {
        "28P01" | "28000" => "the user or the password is wrong",
        "3D000" => "there is no such database",
        "25006" => "the server is a standby, which cannot be written to",
        "3F000" | "42P01" | "42703" => "tables are missing: `bulklink-ctl breaker setup` creates them",
        "42501" => "a right is missing: `bulklink-ctl breaker setup --role` gives them",
        "42704" => "there is no such role",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheme_names_the_server() {
        for (url, server) in [
            ("postgresql://db/app", Server::Postgres),
            ("postgres://db", Server::Postgres),
            ("redis://cache", Server::Redis),
            ("rediss://cache", Server::Redis),
            ("unix:///run/redis", Server::Redis),
            ("db", Server::Redis),
        ] {
            assert_eq!(Server::of(url), server, "{url}");
        }
    }

    #[test]
    fn a_refusal_of_postgresql_says_what_to_do() {
        let store = Store::Postgres(PostgresCircuits::new("postgresql://ringo:s3cret@db/app").unwrap());
        let failure = |code: &str| store.failure(&StoreError::Refused { code: code.into() });
        let wrong = "db:5432: the store refused the command: 28P01, the user or the password is wrong";
        assert_eq!((failure("28P01").to_string().as_str(), failure("28P01").code()), (wrong, 5));
        assert_eq!(failure("XX000").to_string(), "db:5432: the store refused the command: XX000");
    }

    #[test]
    fn an_operation_without_an_answer_may_have_happened() {
        let store = Store::Postgres(PostgresCircuits::new("postgresql://db/app").unwrap());
        let text = "db:5432: the store did not answer in time; the circuit may have changed";
        assert_eq!(store.uncertain(&StoreError::TimedOut).to_string(), text);
        let refused = store.uncertain(&StoreError::Refused { code: "25006".into() });
        assert!(!refused.to_string().contains("may have changed"), "{refused}");
    }
}
