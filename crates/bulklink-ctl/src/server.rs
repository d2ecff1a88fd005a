//! The server, Redis or PostgreSQL by its URL, and the stores on it.

use std::sync::Arc;
use std::time::Duration;

use bulklink_fleet::share::Notice;
use bulklink_fleet::{LeaseStore, Name, ProcessId, Receiver, Session, StoreError};
use bulklink_postgres::PostgresStore;
use bulklink_redis::{InvalidStore, RedisStore};

use crate::failure::Failure;

/// The kind of server, by its URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Redis,
    Postgres,
}

impl Kind {
    pub(crate) fn of(url: &str) -> Self {
        let is_postgres = ["postgresql://", "postgres://"].iter().any(|scheme| url.starts_with(scheme));
        if is_postgres { Kind::Postgres } else { Kind::Redis }
    }

    /// The variable with the password.
    pub(crate) fn password(self) -> &'static str {
        match self {
            Kind::Redis => "BULKLINK_REDIS_PASSWORD",
            Kind::Postgres => "BULKLINK_POSTGRES_PASSWORD",
        }
    }
}

/// The way to the server.
pub(crate) struct Server {
    pub(crate) kind: Kind,
    pub(crate) url: String,
    pub(crate) password: Option<String>,
    pub(crate) certificates: Option<Vec<u8>>,
    pub(crate) timeout: Duration,
}

/// The builders of all stores have the same methods, and no trait.
macro_rules! build {
    ($server:ident, $builder:expr) => {{
        let mut builder = $builder.connect_timeout($server.timeout);
        if let Some(password) = &$server.password {
            builder = builder.password(password);
        }
        if let Some(pem) = &$server.certificates {
            builder = builder.certificates(pem);
        }
        builder.build()
    }};
}

impl Server {
    /// The store on Redis.
    pub(crate) fn redis(&self) -> Result<RedisStore, Failure> {
        build!(self, RedisStore::builder(&self.url)).map_err(|error| Failure::usage(self.reason(error)))
    }

    /// The store on PostgreSQL.
    pub(crate) fn postgres(&self) -> Result<PostgresStore, Failure> {
        build!(self, PostgresStore::builder(&self.url)).map_err(|error| Failure::usage(error.to_string()))
    }

    fn reason(&self, error: InvalidStore) -> String {
        let schemes = ["redis://", "rediss://", "valkey://", "valkeys://", "unix://"];
        match error {
            InvalidStore::Certificates => "--ca has no certificates, or the URL is not one with TLS".to_owned(),
            InvalidStore::Url if !schemes.iter().any(|scheme| self.url.starts_with(scheme)) => {
                "the URL is one of neither Redis nor PostgreSQL".to_owned()
            }
            error => error.to_string(),
        }
    }
}

/// A receiver for a link that listens to nothing: it gets no notice.
struct Deaf;

impl Receiver for Deaf {
    fn notice(&self, _: &Name, _: Notice) {}

    fn ended(&self) {}
}

/// A link of no process: it listens to no name.
pub(crate) async fn link<S: LeaseStore>(store: &S, timeout: Duration) -> Result<S::Link, StoreError> {
    let session = Session::new(ProcessId::from(0), "bulklink-ctl");
    // The store's own limit is for each of several steps.
    in_time(timeout * 2, store.connect(&session, Arc::new(Deaf))).await
}

/// The result, unless it takes too long.
pub(crate) async fn in_time<T>(
    time: Duration,
    future: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    tokio::time::timeout(time, future).await.unwrap_or(Err(StoreError::TIMED_OUT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheme_names_the_server() {
        for (url, kind) in [
            ("postgresql://db/app", Kind::Postgres),
            ("postgres://db", Kind::Postgres),
            ("redis://cache", Kind::Redis),
            ("rediss://cache", Kind::Redis),
            ("valkey://cache", Kind::Redis),
            ("unix:///run/redis", Kind::Redis),
            ("db", Kind::Redis),
        ] {
            assert_eq!(Kind::of(url), kind, "{url}");
        }
    }
}
