//! The circuits on a server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bulklink_breaker::{ProbeId, Settings};
use bulklink_fleet::circuits::encoding::{self, ROW, Reply, mark_text, probe_text};
use bulklink_fleet::circuits::{Asked, CircuitStore, Force, Forced, Report, Reported, Row};
use bulklink_fleet::{Name, Namespace, StoreError};
use tokio_postgres::types::ToSql;

use super::changes::{CHANNEL, PostgresChanges};
use super::session::Sessions;
use super::statement;
use super::wire::{self, Values, number, outcomes};
use crate::InvalidStore;
use crate::check::{Check, check};
use crate::error::{refused, store_error};
use crate::schema::{self, Part};
use crate::server::{self, Server};

/// How long a connection may take, unless the builder is told.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// How long an answer may take, unless the builder is told.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

/// How often a row is created that another process has created meanwhile.
const TRIES: usize = 4;

/// The circuits in a database, on tokio.
///
/// The URL is that of other programs, with the same options as a fleet's: `sslmode=require` demands
/// TLS with a certificate that is trusted, and otherwise there is none. With several hosts,
/// `target_session_attrs=read-write` finds the primary.
///
/// Clones share one session, and each subscription has one of its own.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use bulklink_breaker::Settings;
/// use bulklink_fleet::circuits::CircuitStore;
/// use bulklink_fleet::{Name, Namespace};
/// use bulklink_postgres::breaker::PostgresCircuits;
///
/// let circuits = PostgresCircuits::new("postgresql://service:password@db/app")?;
/// let name = Name::new(&Namespace::new("prod")?, "payments")?;
/// let row = circuits.load(&name, &Settings::consecutive(5)).await?;
/// println!("{}", row.state);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PostgresCircuits {
    sessions: Arc<Sessions>,
    timeout: Duration,
    operate: Arc<str>,
    list: Arc<str>,
}

/// Shows neither user nor password.
impl fmt::Debug for PostgresCircuits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresCircuits")
            .field("server", &self.sessions.server)
            .field("answer_timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

impl PostgresCircuits {
    /// Makes a store from a URL. It connects to nothing yet.
    ///
    /// # Errors
    ///
    /// [`InvalidStore`] as in [`PostgresCircuitsBuilder::build`].
    pub fn new(url: &str) -> Result<Self, InvalidStore> {
        Self::builder(url).build()
    }

    /// Begins a store with credentials, certificates, timeouts or a pool beside its URL.
    pub fn builder(url: &str) -> PostgresCircuitsBuilder {
        PostgresCircuitsBuilder {
            settings: server::Settings::new(url, CONNECT_TIMEOUT),
            timeout: ANSWER_TIMEOUT,
            clock: None,
            #[cfg(feature = "deadpool")]
            pool: None,
        }
    }

    /// The circuits on a server that is known, as a builder makes them.
    #[cfg(feature = "fleet")]
    pub(crate) fn of(server: Server) -> Self {
        Self::on(Sessions::new(server, ANSWER_TIMEOUT * 4 / 5), ANSWER_TIMEOUT, None)
    }

    fn on(sessions: Sessions, timeout: Duration, clock: Option<&str>) -> Self {
        let (operate, list) = (statement::operate(clock).into(), statement::list(clock).into());
        PostgresCircuits { sessions: Arc::new(sessions), timeout, operate, list }
    }

    fn server(&self) -> &Server {
        &self.sessions.server
    }

    /// Creates the table if it is missing, as a user who may create a schema in the database. It
    /// can be called again.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the server cannot be reached or refuses.
    pub async fn set_up(&self) -> Result<(), StoreError> {
        self.set_up_for(&[Part::Breaker], &[]).await
    }

    /// Creates the tables of parts, and gives roles the least rights of a service on them: runs
    /// [`set_up_statements`](crate::set_up_statements). It can be called again.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the server cannot be reached or refuses, such as because there is no such
    /// role. Then nothing has changed.
    pub async fn set_up_for(&self, parts: &[Part], roles: &[&str]) -> Result<(), StoreError> {
        schema::set_up(self.server(), parts, roles).await.map_err(|failure| store_error(&failure))
    }

    /// Looks whether the database has all that is needed, and changes nothing.
    pub async fn check(&self) -> Check {
        check(self.server(), Part::Breaker).await
    }

    /// Returns where the server is, without credentials.
    pub fn address(&self) -> String {
        self.server().address()
    }

    async fn run(&self, name: &Name, values: Values) -> Result<Reply, StoreError> {
        let Values { settings, operation, generation, probe, marks, added } = values;
        let name = name.as_str();
        let values: [&(dyn ToSql + Sync); 8] =
            [&name, &settings, &operation, &generation, &probe, &marks, &added, &CHANNEL];
        for _ in 0..TRIES {
            let rows = self.sessions.run(&self.operate, &values, self.timeout).await;
            // There is no row if another process has created it after this statement began, and
            // nothing was to change.
            if let Some(row) = rows.map_err(|failure| store_error(&failure))?.first() {
                return encoding::reply(&numbers(row, 0, 3 + ROW)?);
            }
        }
        Err(refused("40001"))
    }

    async fn operate(&self, name: &Name, settings: &Settings, values: Values) -> Result<Reply, StoreError> {
        settings.check().map_err(|_| refused("SETTINGS"))?;
        self.run(name, Values { settings: wire::settings(settings), ..values }).await
    }
}

/// Reads columns of numbers.
fn numbers(row: &tokio_postgres::Row, from: usize, count: usize) -> Result<Vec<i64>, StoreError> {
    let number = |at| row.try_get::<_, i64>(at).map_err(|_| StoreError::Malformed);
    (from..from + count).map(number).collect()
}

impl CircuitStore for PostgresCircuits {
    type Changes = PostgresChanges;

    async fn load(&self, name: &Name, settings: &Settings) -> Result<Row, StoreError> {
        Ok(self.operate(name, settings, Values { operation: "load", ..Values::default() }).await?.row)
    }

    async fn admit_probe(&self, name: &Name, settings: &Settings, id: ProbeId) -> Result<Asked, StoreError> {
        let values = Values { operation: "admit", probe: probe_text(id), ..Values::default() };
        self.operate(name, settings, values).await?.asked(id)
    }

    async fn report(&self, name: &Name, settings: &Settings, report: &Report) -> Result<Reported, StoreError> {
        let values = match report {
            Report::Closed { generation, outcomes: ended } => {
                let (marks, added) = outcomes(ended);
                let generation = Some(number(*generation));
                Values { operation: "closed", generation, marks, added, ..Values::default() }
            }
            Report::Probe { generation, id, outcome } => Values {
                operation: "probe",
                generation: Some(number(*generation)),
                probe: probe_text(*id),
                marks: mark_text(*outcome).to_owned(),
                ..Values::default()
            },
        };
        let Reply { code, row, .. } = self.operate(name, settings, values).await?;
        Ok(Reported { counted: code == 1, row })
    }

    async fn force(&self, name: &Name, expected: Option<u64>, force: Force) -> Result<Forced, StoreError> {
        let operation = if force == Force::Open { "open" } else { "close" };
        let values = Values { operation, generation: expected.map(number), ..Values::default() };
        let Reply { code, row, .. } = self.run(name, values).await?;
        Ok(if code == 1 { Forced::Done(row) } else { Forced::Stale(row) })
    }

    async fn changes(&self, namespace: &Namespace) -> Result<PostgresChanges, StoreError> {
        PostgresChanges::subscribe(self.server(), namespace).await
    }

    async fn list(&self, namespace: &Namespace) -> Result<Vec<(Name, Row)>, StoreError> {
        // The letter after the colon.
        let (from, to) = (format!("{namespace}:"), format!("{namespace};"));
        let rows =
            self.sessions.run_unprepared(&self.list, &[&from, &to]).await.map_err(|failure| store_error(&failure))?;
        let mut list = Vec::new();
        for row in rows {
            let name: &str = row.try_get(0).map_err(|_| StoreError::Malformed)?;
            // Rows with another name are not ours.
            if let Ok(name) = name.parse() {
                let known = encoding::row(&numbers(&row, 1, ROW)?).ok_or(StoreError::Malformed)?;
                let settings_differ = row.try_get(1 + ROW).map_err(|_| StoreError::Malformed)?;
                list.push((name, Row { settings_differ, ..known }));
            }
        }
        Ok(list)
    }
}

/// Makes [`PostgresCircuits`].
#[derive(Clone)]
#[must_use = "a builder makes nothing until `build`"]
pub struct PostgresCircuitsBuilder {
    settings: server::Settings,
    timeout: Duration,
    clock: Option<String>,
    #[cfg(feature = "deadpool")]
    pool: Option<deadpool_postgres::Pool>,
}

crate::server::reached!(PostgresCircuitsBuilder);

impl PostgresCircuitsBuilder {
    /// How long an answer may take; 500 ms by default. Then the operation fails with
    /// [`StoreError::TimedOut`], and the next one connects anew. After four fifths of it, the
    /// server no longer waits for a row that another session has locked, and refuses with `55P03`.
    /// Operations on other rows wait for it on the store's one session, but not on those of a pool.
    pub fn answer_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Runs operations on sessions of a pool, instead of one of its own. Subscriptions, lists and
    /// what sets up still connect by the URL.
    ///
    /// The sessions must be in the isolation `read committed`, which is the default of a server.
    #[cfg(feature = "deadpool")]
    pub fn pool(mut self, pool: deadpool_postgres::Pool) -> Self {
        self.pool = Some(pool);
        self
    }

    /// Reads the time by an expression, for the tests of this crate.
    #[doc(hidden)]
    pub fn clock(mut self, expression: &str) -> Self {
        self.clock = Some(expression.to_owned());
        self
    }

    /// Makes the store.
    ///
    /// # Errors
    ///
    /// [`InvalidStore::Url`] if the URL is of no known form, [`InvalidStore::Certificates`] if the
    /// certificates are no PEM, and [`InvalidStore::NoCryptoProvider`] if TLS is demanded and the
    /// program has not installed what `rustls` computes with.
    pub fn build(self) -> Result<PostgresCircuits, InvalidStore> {
        let (server, lock_timeout) = (self.settings.build()?, self.timeout * 4 / 5);
        #[cfg(feature = "deadpool")]
        let sessions = match self.pool {
            Some(pool) => Sessions::on(pool, server, lock_timeout),
            None => Sessions::new(server, lock_timeout),
        };
        #[cfg(not(feature = "deadpool"))]
        let sessions = Sessions::new(server, lock_timeout);
        Ok(PostgresCircuits::on(sessions, self.timeout, self.clock.as_deref()))
    }
}
