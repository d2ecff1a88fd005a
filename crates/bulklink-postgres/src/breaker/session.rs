//! Where statements run: on a session of the store, unless it has a pool.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::poll_fn;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Row, Statement};

use crate::failure::Failure;
use crate::server::{Server, Wire};

/// The values of an operation, in order.
pub(super) const TYPES: [Type; 8] =
    [Type::TEXT, Type::INT8_ARRAY, Type::TEXT, Type::INT8, Type::TEXT, Type::TEXT, Type::INT8_ARRAY, Type::TEXT];

/// The sessions of a store.
pub(super) struct Sessions {
    pub(super) server: Server,
    lock_timeout: Duration,
    session: Mutex<Option<Arc<Session>>>,
    /// Held by the one that connects, so that many operations make one session.
    connects: tokio::sync::Mutex<()>,
    #[cfg(feature = "deadpool")]
    pool: Option<deadpool_postgres::Pool>,
}

/// A session, and the statement that it has prepared.
struct Session {
    client: Client,
    operate: Statement,
    task: Task,
}

/// The task that reads and writes. It ends with this.
pub(super) struct Task(AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Task {
    /// Begins to read and write. What the server sends without being asked goes to `hear`, which is
    /// dropped when the connection ends.
    pub(super) fn spawn(mut wire: Wire, mut hear: impl FnMut(AsyncMessage) + Send + 'static) -> Self {
        let task = tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| wire.poll_message(context)).await {
                hear(message);
            }
        });
        Task(task.abort_handle())
    }
}

impl Sessions {
    pub(super) fn new(server: Server, lock_timeout: Duration) -> Self {
        Sessions {
            server,
            lock_timeout,
            session: Mutex::default(),
            connects: tokio::sync::Mutex::default(),
            #[cfg(feature = "deadpool")]
            pool: None,
        }
    }

    #[cfg(feature = "deadpool")]
    pub(super) fn on(pool: deadpool_postgres::Pool, server: Server, lock_timeout: Duration) -> Self {
        Sessions { pool: Some(pool), ..Self::new(server, lock_timeout) }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Session>>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the statement of an operation.
    pub(super) async fn run(
        &self,
        text: &str,
        values: &[&(dyn ToSql + Sync)],
        time: Duration,
    ) -> Result<Vec<Row>, Failure> {
        #[cfg(feature = "deadpool")]
        if let Some(pool) = &self.pool {
            return super::pool::run(pool, text, values, time).await;
        }
        let session = self.session(text).await?;
        let rows = timeout(time, session.client.query(&session.operate, values)).await;
        let rows = rows.map_err(|_| Failure::TimedOut).and_then(|rows| rows.map_err(|error| Failure::of(&error)));
        if rows.as_ref().is_err_and(is_last) {
            self.forget(&session);
        }
        rows
    }

    /// Runs another statement, which is not prepared, on a connection of its own.
    pub(super) async fn run_unprepared(&self, text: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Failure> {
        let (client, mut wire) = self.server.connect("bulklink list").await?;
        let query = wire.drive(client.query(text, values));
        self.server.in_time(query).await?.map_err(|error| Failure::of(&error))
    }

    fn present(&self) -> Option<Arc<Session>> {
        self.lock().as_ref().filter(|session| !session.client.is_closed()).map(Arc::clone)
    }

    async fn session(&self, text: &str) -> Result<Arc<Session>, Failure> {
        if let Some(session) = self.present() {
            return Ok(session);
        }
        let _connects = self.connects.lock().await;
        if let Some(session) = self.present() {
            return Ok(session);
        }
        let (client, wire) = self.server.connect("bulklink circuits").await?;
        let task = Task::spawn(wire, |_| {});
        let time = self.lock_timeout.as_millis().max(1);
        let prepare =
            format!("SET lock_timeout = {time}; SET default_transaction_isolation = 'read committed'; SET jit = off");
        let begin = async {
            client.batch_execute(&prepare).await?;
            client.prepare_typed(text, &TYPES).await
        };
        let operate = self.server.in_time(begin).await?.map_err(|error| Failure::of(&error))?;
        let session = Arc::new(Session { client, operate, task });
        *self.lock() = Some(Arc::clone(&session));
        Ok(session)
    }

    fn forget(&self, session: &Arc<Session>) {
        let mut present = self.lock();
        if present.as_ref().is_some_and(|present| Arc::ptr_eq(present, session)) {
            *present = None;
        }
        drop(present);
        // Kept until here, as the task ends with the last one.
        let _ = &session.task;
    }
}

/// Whether a session is of no more use.
pub(super) fn is_last(failure: &Failure) -> bool {
    match failure {
        Failure::Lost | Failure::TimedOut => true,
        // A standby: the primary may be elsewhere now. Or the plan is of a table that was replaced.
        Failure::Refused(code) => ["25006", "0A000", "26000", "42P01", "42703"].contains(&&**code),
        Failure::Full => false,
    }
}
