//! The store of a fleet.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bulklink_fleet::{LeaseStore, Name, Namespace, Receiver, Session, StoreError};
use tokio_postgres::{Client, Config};

use super::link::PostgresLink;
use crate::InvalidStore;
use crate::check::{Check, check};
use crate::schema::{self, Part};
use crate::server::{Server, parse};
use crate::session::Behaviour;

/// How long a connection may take, unless the builder has another limit.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a command waits for a row, unless the builder has another limit: less than the time
/// after which a fleet gives a connection up.
const LOCK_TIMEOUT: Duration = Duration::from_millis(400);

/// A server of PostgreSQL (14 or later), on tokio.
///
/// The URL is `postgresql://[user[:password]@]host[:port][/database][?options]`, as for other
/// programs: `sslmode=require` demands TLS with a certificate that is trusted, and otherwise there
/// is none. Of `sslmode`, `disable`, `prefer` and `require` are known: without `require` there is
/// no TLS, and with it the certificate must be for the host. A folder with a socket is written
/// `%2Frun%2Fpostgresql`. With several hosts, the option `target_session_attrs=read-write` finds
/// the primary.
///
/// ```
/// use bulklink_postgres::PostgresStore;
///
/// let store = PostgresStore::new("postgresql://localhost/app")?;
/// # Ok::<(), bulklink_postgres::InvalidStore>(())
/// ```
#[derive(Clone, Debug)]
pub struct PostgresStore {
    server: Server,
    behaviour: Behaviour,
}

impl PostgresStore {
    /// Makes a store from a URL. It connects to nothing yet.
    ///
    /// # Errors
    ///
    /// [`InvalidStore`] as in [`PostgresStoreBuilder::build`].
    pub fn new(url: &str) -> Result<Self, InvalidStore> {
        Self::builder(url).build()
    }

    /// Begins a store with credentials, certificates or timeouts beside its URL.
    pub fn builder(url: &str) -> PostgresStoreBuilder {
        let behaviour = Behaviour { lock_timeout: LOCK_TIMEOUT, is_durable: true };
        PostgresStoreBuilder { config: parse(url), certificates: None, timeout: CONNECT_TIMEOUT, behaviour }
    }

    /// Returns the shared circuits on the same server, on a session of their own. They wait for a
    /// lock by their [answer timeout](crate::breaker::PostgresCircuits::answer_timeout), and never
    /// for the server's disk: `lock_timeout` and `durable` are of shares.
    #[cfg(feature = "breaker")]
    #[must_use]
    pub fn circuits(&self) -> crate::breaker::PostgresCircuits {
        crate::breaker::PostgresCircuits::new(self.server.clone())
    }

    /// Creates the tables of parts where they are missing, as a user with the right to create a
    /// schema in the database, and gives roles the least rights of a service on them: runs
    /// [`set_up_statements`](crate::set_up_statements). It can be called again.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the server cannot be reached or refuses, such as because there is no such
    /// role, or with the code `VERSION` because a part has tables of another version. Then nothing
    /// has changed.
    pub async fn set_up(&self, parts: &[Part], roles: &[&str]) -> Result<(), StoreError> {
        schema::set_up(&self.server, parts, roles).await
    }

    /// Looks whether the database has all that a part needs, and changes nothing.
    pub async fn check(&self, part: Part) -> Check {
        check(&self.server, part).await
    }

    /// Returns where the server is, without credentials: its host and port, or the path of its
    /// socket; several of them are separated by commas.
    ///
    /// ```
    /// use bulklink_postgres::PostgresStore;
    ///
    /// let store = PostgresStore::new("postgresql://user:password@db/app")?;
    /// assert_eq!(store.address(), "db:5432");
    /// # Ok::<(), bulklink_postgres::InvalidStore>(())
    /// ```
    pub fn address(&self) -> String {
        self.server.address()
    }
}

impl LeaseStore for PostgresStore {
    type Link = PostgresLink;

    async fn connect(&self, session: &Session, receiver: Arc<dyn Receiver>) -> Result<PostgresLink, StoreError> {
        PostgresLink::connect(&self.server, self.behaviour, session, receiver).await
    }

    async fn names(&self, namespace: Option<&Namespace>) -> Result<Vec<Name>, StoreError> {
        let text = "SELECT name FROM bulklink.fleet ORDER BY name";
        let list = |client: Client| async move { client.query(text, &[]).await };
        let rows = self.server.read("bulklink names", Part::Fleet, list).await?;
        // Rows with another name are not ours.
        let names = rows.iter().filter_map(|row| row.try_get::<_, &str>(0).ok()?.parse::<Name>().ok());
        let of_it = |name: &Name| namespace.is_none_or(|namespace| name.namespace() == namespace.as_str());
        Ok(names.filter(of_it).collect())
    }
}

/// Makes a [`PostgresStore`].
#[derive(Clone)]
#[must_use = "a builder makes nothing until `build`"]
pub struct PostgresStoreBuilder {
    config: Result<Config, InvalidStore>,
    certificates: Option<Vec<u8>>,
    timeout: Duration,
    behaviour: Behaviour,
}

/// Shows no credentials, as it shows nothing.
impl fmt::Debug for PostgresStoreBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStoreBuilder").finish_non_exhaustive()
    }
}

impl PostgresStoreBuilder {
    /// Logs in as this user, instead of the URL's.
    pub fn user(mut self, name: &str) -> Self {
        self.config = self.config.map(|mut config| config.user(name).clone());
        self
    }

    /// Logs in with this password, instead of the URL's.
    pub fn password(mut self, password: &str) -> Self {
        self.config = self.config.map(|mut config| config.password(password).clone());
        self
    }

    /// Trusts these certificates, in PEM, and no others, and demands TLS. Without it, those of the
    /// system are trusted.
    pub fn certificates(mut self, pem: &[u8]) -> Self {
        self.certificates = Some(pem.to_vec());
        self
    }

    /// Sets how long connecting may take, and how long the server's first answers: 2 s by default.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets how long a command waits for the row of its name, before it is refused with the code
    /// `55P03`: 400 ms by default. The server ends a session that stops while it has a row after
    /// three quarters of that time. It should be less than the fleet's
    /// [`store_timeout`](bulklink_fleet::FleetBuilder::store_timeout).
    pub fn lock_timeout(mut self, timeout: Duration) -> Self {
        self.behaviour.lock_timeout = timeout;
        self
    }

    /// Sets whether the server has written each command to its disk before it answers, which is the
    /// default; by the session's `synchronous_commit`.
    ///
    /// Without it, a crash of the server loses the changes of the last moments. As after every
    /// crash, nothing is granted then until all leases of before are known or over, and the next
    /// token is larger than those that were lost, as far as the server's clock does not go back.
    pub fn durable(mut self, is_durable: bool) -> Self {
        self.behaviour.is_durable = is_durable;
        self
    }

    /// Makes the store.
    ///
    /// # Errors
    ///
    /// [`InvalidStore::Url`] if the URL is of no known form, [`InvalidStore::Certificates`] if the
    /// certificates are no PEM, and [`InvalidStore::NoCryptoProvider`] if TLS is demanded and the
    /// program has not installed what `rustls` computes with, such as by
    /// `rustls::crypto::ring::default_provider().install_default()`.
    pub fn build(self) -> Result<PostgresStore, InvalidStore> {
        let server = Server::new(self.config?, self.certificates.as_deref(), self.timeout)?;
        Ok(PostgresStore { server, behaviour: self.behaviour })
    }
}
