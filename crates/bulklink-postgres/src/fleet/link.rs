//! A link: a connection to the server, which ends with it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bulklink_fleet::share::{self, LimitRefusal, Statement, Status};
use bulklink_fleet::{Link, Name, ProcessId, Receiver, Server as Facts, Session, StoreError, Version};

use super::hello::hello;
use super::shared::Shared;
use super::step::{Answer, Command, Limits};
use crate::server::Server;
use crate::session::{self, Behaviour};

/// A connection to PostgreSQL, made by a [`PostgresStore`](crate::PostgresStore).
pub struct PostgresLink {
    shared: Arc<Shared>,
    id: ProcessId,
    facts: Facts,
    session: session::Session<Limits>,
}

impl fmt::Debug for PostgresLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresLink").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Drop for PostgresLink {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl PostgresLink {
    pub(crate) async fn connect(
        server: &Server,
        behaviour: Behaviour,
        session: &Session,
        receiver: Arc<dyn Receiver>,
    ) -> Result<Self, StoreError> {
        let (client, mut wire) = server.connect(&session.process).await?;
        let greeting = wire.drive(hello(&client, session.id, behaviour));
        let (me, facts, statements) = server.in_time(greeting).await??;
        let shared = Shared::new(session.id, receiver);
        let (ending, rows) = (Ending(Arc::clone(&shared)), Limits { me, shared: Arc::clone(&shared) });
        let hear = move |message: &str| ending.0.receive(message);
        // The fleet ends a link that does not answer.
        let connection = session::Session::start((client, wire), statements, rows, Duration::MAX, hear);
        Ok(PostgresLink { shared, id: session.id, facts, session: connection })
    }
}

impl Link for PostgresLink {
    async fn listen(&self, name: &Name) -> Result<Facts, StoreError> {
        if self.shared.is_over() {
            return Err(self.session.ended());
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
            _ => Err(StoreError::MALFORMED),
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
            _ => Err(StoreError::MALFORMED),
        }
    }

    async fn look(&self, name: &Name) -> Result<Option<Status>, StoreError> {
        match self.ask(name, Command::Look).await? {
            Answer::Look(answer) => Ok(answer),
            _ => Err(StoreError::MALFORMED),
        }
    }
}

impl PostgresLink {
    async fn ask(&self, name: &Name, command: Command) -> Result<Answer, StoreError> {
        let answer = self.session.run(name, command).await;
        if self.shared.is_over() { Err(self.session.ended()) } else { answer }
    }
}

/// Ends the link, however its task ends.
struct Ending(Arc<Shared>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}
