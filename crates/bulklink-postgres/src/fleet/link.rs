//! A link: one connection, and one task that drives it and runs commands on it.

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use bulklink_fleet::share::{self, LimitRefusal, Statement, Status};
use bulklink_fleet::{Link, Name, ProcessId, Receiver, Server as Facts, Session, StoreError, Version};
use futures_util::future::select;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_postgres::AsyncMessage;

use super::error::store_error;
use super::hello::{Behaviour, Hello, hello};
use super::shared::Shared;
use super::step::{Answer, Command};
use super::worker::{Job, Worker};
use crate::server::{Server, Wire};

/// A connection to PostgreSQL, made by a [`PostgresStore`](crate::PostgresStore).
pub struct PostgresLink {
    shared: Arc<Shared>,
    id: ProcessId,
    facts: Facts,
    jobs: mpsc::UnboundedSender<Job>,
    task: JoinHandle<()>,
}

impl fmt::Debug for PostgresLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresLink").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Drop for PostgresLink {
    fn drop(&mut self) {
        self.shared.close();
        self.task.abort();
    }
}

impl PostgresLink {
    pub(crate) async fn connect(
        server: &Server,
        behaviour: Behaviour,
        session: &Session,
        receiver: Arc<dyn Receiver>,
    ) -> Result<Self, StoreError> {
        let connected = server.connect(&session.process).await;
        let (client, mut wire) = connected.map_err(|failure| store_error(&failure))?;
        let greeting = server.in_time(wire.drive(hello(&client, session.id, behaviour))).await;
        let greeted = greeting.and_then(|greeted| greeted).map_err(|failure| store_error(&failure))?;
        let Hello { me, facts, statements } = greeted;
        let shared = Shared::new(session.id, receiver);
        let (jobs, queue) = mpsc::unbounded_channel();
        let worker = Worker { client, statements, jobs: queue, me, shared: Arc::clone(&shared) };
        let task = tokio::spawn(serve(wire, worker, Ending(Arc::clone(&shared))));
        Ok(PostgresLink { shared, id: session.id, facts, jobs, task })
    }
}

impl Link for PostgresLink {
    async fn listen(&self, name: &Name) -> Result<Facts, StoreError> {
        if self.shared.is_over() {
            return Err(StoreError::Unreachable);
        }
        // The connection listens already. Others learn it by the next command of this name.
        self.shared.listen(name);
        Ok(self.facts)
    }

    async fn unlisten(&self, name: &Name) -> Result<(), StoreError> {
        // The connection has one channel for all names: what still comes for this one is dropped.
        self.shared.forget(name);
        Ok(())
    }

    async fn sync(&self, name: &Name, statement: Statement) -> Result<share::Answer, StoreError> {
        match self.ask(name, Command::Sync(statement)).await? {
            Answer::Sync(answer) => Ok(answer),
            _ => Err(StoreError::Malformed),
        }
    }

    async fn resize(
        &self,
        name: &Name,
        limit: u32,
        expected: Version,
    ) -> Result<Result<Version, LimitRefusal>, StoreError> {
        match self.ask(name, Command::Resize(limit, expected)).await? {
            Answer::Resize(answer) => Ok(answer),
            _ => Err(StoreError::Malformed),
        }
    }

    async fn look(&self, name: &Name) -> Result<Option<Status>, StoreError> {
        match self.ask(name, Command::Look).await? {
            Answer::Look(answer) => Ok(answer),
            _ => Err(StoreError::Malformed),
        }
    }
}

impl PostgresLink {
    async fn ask(&self, name: &Name, command: Command) -> Result<Answer, StoreError> {
        let (answer, answered) = oneshot::channel();
        let job = Job { name: name.clone(), command, answer };
        self.jobs.send(job).map_err(|_| StoreError::Unreachable)?;
        let answer = answered.await.unwrap_or(Err(StoreError::Unreachable));
        if self.shared.is_over() { Err(StoreError::Unreachable) } else { answer }
    }
}

/// Says that the link has ended, however its task does.
struct Ending(Arc<Shared>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Drives a connection and runs commands on it, in one task: so what the connection tells and what
/// the commands tell has one order.
async fn serve(mut wire: Wire, worker: Worker, ending: Ending) {
    let listen = poll_fn(|context| {
        loop {
            match wire.poll_message(context) {
                Poll::Ready(Some(Ok(AsyncMessage::Notification(message)))) => ending.0.receive(message.payload()),
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(Some(Err(_)) | None) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
    });
    select(listen, pin!(worker.run())).await;
}
