//! The circuits on a server.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bulklink_breaker::Settings;
use bulklink_fleet::circuits::record::Record;
use bulklink_fleet::circuits::{CircuitStore, Operation, Reply, Row};
use bulklink_fleet::{Name, Namespace, StoreError};
use tokio::time::timeout;
use tokio_postgres::types::ToSql;

use super::changes::PostgresChanges;
use super::rows::{Circuits, instant};
use crate::error::store_error;
use crate::failure::Failure;
use crate::server::Server;
use crate::session::{Behaviour, Session, begin};
use crate::worker::{NOW, Rows, Statements};

/// How long an answer may take, unless the store has another limit.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

/// The circuits in a database, on tokio; returned by
/// [`PostgresStore::circuits`](crate::PostgresStore::circuits).
///
/// Clones share one session, and each subscription has one of its own.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use bulklink_breaker::Settings;
/// use bulklink_fleet::circuits::CircuitStore;
/// use bulklink_fleet::{Name, Namespace};
/// use bulklink_postgres::PostgresStore;
///
/// let circuits = PostgresStore::new("postgresql://service:password@db/app")?.circuits();
/// let name = Name::new(&Namespace::new("prod")?, "payments")?;
/// let row = circuits.load(&name, &Settings::consecutive(5)).await?;
/// println!("{}", row.state);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PostgresCircuits {
    server: Server,
    timeout: Duration,
    /// Where tests have the time.
    clock: Option<String>,
    sessions: Arc<Sessions>,
}

/// The session of a store, once there is one.
#[derive(Default)]
struct Sessions {
    present: Mutex<Option<Arc<Session<Circuits>>>>,
    /// Held by the one that connects, so that many operations make one session.
    connects: tokio::sync::Mutex<()>,
}

/// Shows neither user nor password.
impl fmt::Debug for PostgresCircuits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresCircuits")
            .field("server", &self.server)
            .field("answer_timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

impl PostgresCircuits {
    pub(crate) fn new(server: Server) -> Self {
        PostgresCircuits { server, timeout: ANSWER_TIMEOUT, clock: None, sessions: Arc::default() }
    }

    /// How long an answer may take: 500 ms if it is not set. Then the operation fails with
    /// [`StoreError::TimedOut`], and the next one connects anew. After four fifths of it, the
    /// server no longer waits for a row that another session has locked, and refuses with `55P03`.
    /// Operations on other rows wait for it meanwhile.
    ///
    /// The store that is returned has a session of its own.
    #[must_use]
    pub fn answer_timeout(self, timeout: Duration) -> Self {
        PostgresCircuits { timeout, sessions: Arc::default(), ..self }
    }

    /// Reads the time by an expression, for the tests of this crate.
    #[doc(hidden)]
    #[must_use]
    pub fn with_clock(self, expression: &str) -> Self {
        PostgresCircuits { clock: Some(expression.to_owned()), sessions: Arc::default(), ..self }
    }

    async fn session(&self) -> Result<Arc<Session<Circuits>>, Failure> {
        if let Some(session) = self.sessions.present() {
            return Ok(session);
        }
        let _connects = self.sessions.connects.lock().await;
        if let Some(session) = self.sessions.present() {
            return Ok(session);
        }
        let (client, mut wire) = self.server.connect("bulklink circuits").await?;
        // A crash of the server may lose the last operations: none waits for its disk.
        let behaviour = Behaviour { lock_timeout: self.timeout * 4 / 5, is_durable: false };
        let prepare = async {
            begin::<Circuits>(&client, behaviour).await?;
            let statements = Statements::prepare::<Circuits>(&client, self.clock.as_deref()).await;
            statements.map_err(|error| Failure::of(&error))
        };
        let statements = self.server.in_time(wire.drive(prepare)).await??;
        let session = Arc::new(Session::start((client, wire), statements, Circuits, |_| {}));
        *self.sessions.lock() = Some(Arc::clone(&session));
        Ok(session)
    }
}

impl Sessions {
    fn lock(&self) -> MutexGuard<'_, Option<Arc<Session<Circuits>>>> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn present(&self) -> Option<Arc<Session<Circuits>>> {
        self.lock().as_ref().filter(|session| !session.is_over()).map(Arc::clone)
    }

    fn forget(&self, session: &Arc<Session<Circuits>>) {
        let gone = self.lock().take_if(|present| Arc::ptr_eq(present, session));
        drop(gone);
    }
}

impl CircuitStore for PostgresCircuits {
    type Changes = PostgresChanges;

    async fn operate(
        &self,
        name: &Name,
        settings: Option<&Settings>,
        operation: &Operation,
    ) -> Result<Reply, StoreError> {
        let session = self.session().await.map_err(|failure| store_error(&failure))?;
        let command = (settings.copied(), operation.clone());
        let reply = timeout(self.timeout, session.run(name, command)).await.unwrap_or(Err(StoreError::TimedOut));
        if matches!(reply, Err(StoreError::TimedOut | StoreError::Unreachable)) {
            self.sessions.forget(&session);
        }
        reply
    }

    async fn changes(&self, namespace: &Namespace) -> Result<PostgresChanges, StoreError> {
        PostgresChanges::subscribe(&self.server, namespace).await
    }

    async fn list(&self, namespace: &Namespace) -> Result<Vec<(Name, Row)>, StoreError> {
        let now = self.clock.as_deref().unwrap_or(NOW);
        let text = format!(
            "SELECT name, data, {now} FROM bulklink.{} WHERE name COLLATE \"C\" >= $1 AND name COLLATE \"C\" < $2 \
             ORDER BY name COLLATE \"C\"",
            Circuits::PART.table()
        );
        // The letter after the colon.
        let range = [format!("{namespace}:"), format!("{namespace};")];
        let values = range.each_ref().map(|name| name as &(dyn ToSql + Sync));
        let rows = async {
            let (client, mut wire) = self.server.connect("bulklink list").await?;
            let query = wire.drive(client.query(&text, &values));
            self.server.in_time(query).await?.map_err(|error| Failure::of(&error))
        };
        let rows = rows.await.map_err(|failure| store_error(&failure))?;
        let read = |row: &tokio_postgres::Row| {
            let now = u64::try_from(row.try_get::<_, i64>(2).ok()?).ok()?;
            let record = Record::of_text(row.try_get(1).ok()?)?;
            // Rows with another name are not ours.
            Some((row.try_get::<_, &str>(0).ok()?.parse().ok()?, record.row(instant(now.into()))))
        };
        Ok(rows.iter().filter_map(read).collect())
    }
}
