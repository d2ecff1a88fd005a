//! A connection, and one task that drives it and runs commands on it.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

use bulklink_fleet::{Name, StoreError};
use futures_util::future::select;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_postgres::{AsyncMessage, Client};

use crate::error::{of_statement, refused};
use crate::schema::last_row;
use crate::server::Wire;
use crate::worker::{Job, Rows, Statements, Worker};

/// How sessions behave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Behaviour {
    /// How long a command waits for a row.
    pub(crate) lock_timeout: Duration,
    /// Whether the server writes each command to its disk before it answers.
    pub(crate) is_durable: bool,
}

/// Prepares a new connection for transactions on the rows of a part.
///
/// A process that stops between two statements has a row locked, so the server ends its session
/// soon: before commands that wait for the lock give up.
pub(crate) async fn begin<R: Rows>(
    client: &Client,
    behaviour: Behaviour,
    clock: Option<&str>,
) -> Result<Statements, StoreError> {
    let (part, lock) = (R::PART, behaviour.lock_timeout.as_millis().clamp(2, 1_000_000_000));
    let commit = if behaviour.is_durable {
        // Other settings than `off` may demand more than `on`.
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
    } else {
        "SET synchronous_commit = off"
    };
    let text = format!(
        "SET search_path = pg_catalog; SET lock_timeout = {lock}; \
         SET idle_in_transaction_session_timeout = {}; {commit}; \
         SELECT pg_is_in_recovery(), (SELECT version FROM bulklink.part WHERE name = '{}')",
        lock * 3 / 4,
        part.name()
    );
    let rows = client.simple_query(&text).await.map_err(of_statement)?;
    let found = last_row(&rows).unwrap_or_default();
    // A standby can neither lock nor listen.
    if found.first().and_then(Option::as_deref) != Some("f") {
        return Err(refused("25006"));
    }
    if found.get(1) != Some(&Some(part.version().to_string())) {
        return Err(refused("VERSION"));
    }
    Statements::prepare::<R>(client, clock).await.map_err(of_statement)
}

/// A task that drives a connection. It ends with this.
#[derive(Debug)]
pub(crate) struct Task {
    handle: JoinHandle<()>,
    end: Arc<OnceLock<StoreError>>,
}

impl Drop for Task {
    fn drop(&mut self) {
        self.handle.abort();
    }
}

impl Task {
    /// Drives a connection. Notifications go to `hear`, which is dropped when it ends.
    pub(crate) fn spawn(
        mut wire: Wire,
        mut hear: impl FnMut(&str) + Send + 'static,
        work: impl Future<Output = StoreError> + Send + 'static,
    ) -> Self {
        let end = Arc::<OnceLock<_>>::default();
        let ended = Arc::clone(&end);
        let handle = tokio::spawn(async move {
            // In one task, so that the news of the connection and of the commands have one order.
            let listen = poll_fn(|context| {
                loop {
                    match wire.poll_message(context) {
                        Poll::Ready(Some(Ok(AsyncMessage::Notification(message)))) => hear(message.payload()),
                        Poll::Ready(Some(Ok(_))) => {}
                        Poll::Ready(Some(Err(error))) => return Poll::Ready(of_statement(error)),
                        Poll::Ready(None) => return Poll::Ready(StoreError::UNREACHABLE),
                        Poll::Pending => return Poll::Pending,
                    }
                }
            });
            let error = select(listen, pin!(work)).await.factor_first().0;
            // Before the commands are dropped, which look for it.
            ended.get_or_init(|| error);
        });
        Task { handle, end }
    }

    /// Returns why the connection has ended.
    pub(crate) fn ended(&self) -> StoreError {
        self.end.get().cloned().unwrap_or(StoreError::UNREACHABLE)
    }
}

/// A connection that runs commands on the rows of a part. It ends with this.
pub(crate) struct Session<R: Rows> {
    jobs: mpsc::UnboundedSender<Job<R>>,
    task: Task,
}

impl<R: Rows> Session<R> {
    /// Begins to run commands, until some take longer than `limit`. Notifications go to `hear`,
    /// which is dropped when the session ends.
    pub(crate) fn start(
        (client, wire): (Client, Wire),
        statements: Statements,
        rows: R,
        limit: Duration,
        hear: impl FnMut(&str) + Send + 'static,
    ) -> Self {
        let (jobs, queue) = mpsc::unbounded_channel();
        let worker = Worker { client, statements, jobs: queue, rows, limit };
        Session { jobs, task: Task::spawn(wire, hear, worker.run()) }
    }

    /// Returns whether it has ended.
    #[cfg(feature = "breaker")]
    pub(crate) fn is_over(&self) -> bool {
        self.jobs.is_closed()
    }

    /// Returns why it has ended.
    pub(crate) fn ended(&self) -> StoreError {
        self.task.ended()
    }

    /// Runs a command. It may take effect after the future was dropped.
    pub(crate) async fn run(&self, name: &Name, command: R::Command) -> Result<R::Answer, StoreError> {
        let (answer, answered) = oneshot::channel();
        let job = Job { name: name.clone(), command, answer };
        self.jobs.send(job).map_err(|_| self.ended())?;
        answered.await.unwrap_or_else(|_| Err(self.ended()))
    }
}
