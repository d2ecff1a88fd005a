//! The circuits on a server.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bulklink_breaker::Settings;
use bulklink_fleet::circuits::record::Record;
use bulklink_fleet::circuits::{CircuitStore, Operation, Reply, Row};
use bulklink_fleet::{Name, Namespace, StoreError, StoreErrorKind};
use futures_util::future::{BoxFuture, FutureExt, Shared};
use tokio::time::timeout;
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

use super::changes::PostgresChanges;
use super::rows::{Circuits, instant};
use crate::server::Server;
use crate::session::{Behaviour, Session, begin};
use crate::worker::{NOW, Rows};

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
    session: Arc<Mutex<Option<Connecting>>>,
}

/// A session, or the attempt to have one: many operations make one, and it goes on without them.
type Connecting = Shared<BoxFuture<'static, Result<Arc<Session<Circuits>>, StoreError>>>;

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
        PostgresCircuits { server, timeout: ANSWER_TIMEOUT, clock: None, session: Arc::default() }
    }

    /// Sets how long an answer may take: 500 ms by default. Then the operation fails with
    /// [`StoreError::TIMED_OUT`], and a session with a transaction that takes longer ends: the next
    /// operation connects anew. It should not be longer than the
    /// [`store_timeout`](bulklink_fleet::circuits::CircuitsBuilder::store_timeout) of circuits.
    ///
    /// After two fifths of it, the server no longer waits for a row that another session has
    /// locked, and refuses with `55P03`; operations on other rows wait for it meanwhile. A process
    /// that stops while it has a row loses its session after three tenths.
    ///
    /// The store that is returned has a session of its own.
    #[must_use]
    pub fn answer_timeout(self, timeout: Duration) -> Self {
        PostgresCircuits { timeout, session: Arc::default(), ..self }
    }

    /// Reads the time by an expression.
    pub(crate) fn with_clock(self, expression: &str) -> Self {
        PostgresCircuits { clock: Some(expression.to_owned()), session: Arc::default(), ..self }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Connecting>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves a session that ends, which takes a moment.
    fn forget(&self, session: &Arc<Session<Circuits>>) {
        let is_it = |known: &mut Connecting| matches!(known.peek(), Some(Ok(known)) if Arc::ptr_eq(known, session));
        let gone = self.lock().take_if(is_it);
        drop(gone);
    }

    /// Returns the present session, or connects.
    fn connecting(&self) -> Connecting {
        let mut present = self.lock();
        let is_over = |known: &&Connecting| match known.peek() {
            None => false,
            Some(Ok(session)) => session.is_over(),
            Some(Err(_)) => true,
        };
        if let Some(known) = present.as_ref().filter(|known| !is_over(known)) {
            return known.clone();
        }
        let connecting = connect(self.server.clone(), self.timeout, self.clock.clone()).boxed().shared();
        tokio::spawn(connecting.clone());
        *present = Some(connecting.clone());
        connecting
    }
}

async fn connect(
    server: Server,
    timeout: Duration,
    clock: Option<String>,
) -> Result<Arc<Session<Circuits>>, StoreError> {
    let (client, mut wire) = server.connect("bulklink circuits").await?;
    // A crash of the server may lose the last operations: none waits for its disk.
    let behaviour = Behaviour { lock_timeout: timeout / 5 * 2, is_durable: false };
    let begin = wire.drive(begin::<Circuits>(&client, behaviour, clock.as_deref()));
    let statements = server.in_time(begin).await??;
    // Not before the operation that waits has given up.
    let limit = timeout.saturating_add(timeout / 4);
    Ok(Arc::new(Session::start((client, wire), statements, Circuits, limit, |_| {})))
}

impl CircuitStore for PostgresCircuits {
    type Changes = PostgresChanges;

    async fn operate(
        &self,
        name: &Name,
        settings: Option<&Settings>,
        operation: &Operation,
    ) -> Result<Reply, StoreError> {
        let session = self.connecting().await?;
        let command = (settings.copied(), operation.clone());
        let reply = timeout(self.timeout, session.run(name, command)).await.unwrap_or(Err(StoreError::TIMED_OUT));
        if reply.as_ref().is_err_and(|error| error.kind() == StoreErrorKind::Unreachable || Circuits::ends(error)) {
            self.forget(&session);
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
        let list = |client: Client| async move { client.query(&text, &values).await };
        let rows = self.server.read("bulklink list", Circuits::PART, list).await?;
        let read = |row: &tokio_postgres::Row| {
            let now = u64::try_from(row.try_get::<_, i64>(2).ok()?).ok()?;
            let record = Record::of_text(row.try_get(1).ok()?)?;
            // Rows with another name are not ours.
            Some((row.try_get::<_, &str>(0).ok()?.parse().ok()?, record.row(instant(now.into()))))
        };
        Ok(rows.iter().filter_map(read).collect())
    }
}
