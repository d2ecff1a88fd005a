//! Runs commands on the rows of a table, one transaction after the other.
//!
//! A transaction locks the row of its name, so all that happens to a name has one order.
//! The commands of one name that wait meanwhile share the next transaction, before those of other
//! names: so a name that another session has locked is waited for once.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bulklink_fleet::{Name, ServerTime, StoreError, StoreErrorKind};
use futures_util::future::{join, try_join_all};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Statement};

use crate::error::{of_statement, refused};
use crate::schema::Part;

/// The largest number of commands in a transaction, which holds a lock.
const BATCH: usize = 64;

/// Links that have ended are found one transaction after the other.
const TRIES: usize = 100;

/// The server's time in microseconds.
pub(crate) const NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

/// The rows of a part: what commands do to them, and no input and output.
pub(crate) trait Rows: Send + Sync + 'static {
    /// The part of the schema, which has their table.
    const PART: Part;

    /// A command on a row.
    type Command: Send + Sync;

    /// Its answer.
    type Answer: Send;

    /// News for this process, beside the answers.
    type Told: Send;

    /// Whether a command only reads, as a rule.
    fn reads(command: &Self::Command) -> bool;

    /// Applies commands to the row with this text, if there is one. Links in `dead` have ended.
    /// Commands that only read change nothing.
    ///
    /// # Errors
    ///
    /// If the text is malformed. Then nothing is written.
    fn apply<'a>(
        &self,
        name: &Name,
        text: Option<&str>,
        now: ServerTime,
        dead: &BTreeSet<i64>,
        commands: impl Iterator<Item = &'a Self::Command> + Clone,
    ) -> Result<Done<Self>, StoreError>;

    /// Whether a connection is of no more use after a refusal.
    fn ends(refusal: &StoreError) -> bool;

    /// Takes the news, once the commands have taken effect. Returns whether their
    /// answers still matter.
    fn committed(&self, name: &Name, told: Self::Told) -> bool;
}

/// The result of commands.
pub(crate) struct Done<R: Rows + ?Sized> {
    /// The text of the row then. `None` if it must not have one.
    pub(crate) text: Option<String>,
    pub(crate) answers: Vec<Result<R::Answer, StoreError>>,
    pub(crate) told: R::Told,
    pub(crate) notices: Notices,
}

/// Messages to other processes.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    /// The locks that the sessions of the links hold to which messages go.
    pub(crate) keys: Vec<i64>,
    /// Where each message goes.
    pub(crate) channels: Vec<String>,
    pub(crate) messages: Vec<String>,
}

/// A command, and where its answer goes.
pub(crate) struct Job<R: Rows> {
    pub(crate) name: Name,
    pub(crate) command: R::Command,
    pub(crate) answer: oneshot::Sender<Result<R::Answer, StoreError>>,
}

/// The connection is of no more use, for this reason.
pub(crate) struct End(StoreError);

/// The result of a transaction.
enum Tried<R: Rows> {
    /// The commands have taken effect.
    Done(Done<R>),
    /// Nothing has happened, as another process came first, or as these links have ended.
    Again(Vec<i64>),
    /// Nothing has happened.
    Refused(StoreError),
}

/// The statements of commands.
pub(crate) struct Statements {
    read: Statement,
    lock: Statement,
    create: Statement,
    update: Statement,
    publish: Statement,
}

impl Statements {
    /// Prepares the statements of a part. Tests have a clock of their own.
    pub(crate) async fn prepare<R: Rows>(client: &Client, clock: Option<&str>) -> Result<Self, Error> {
        let (table, now) = (R::PART.table(), clock.unwrap_or(NOW));
        // The clock is read above the lock, so after it was waited for.
        let read = |lock: &str| {
            format!(
                "SELECT t.data, {now} FROM (SELECT 1) AS one \
                 LEFT JOIN (SELECT data FROM bulklink.{table} WHERE name = $1{lock}) AS t ON true"
            )
        };
        // Writes and notifies others, unless one of them has ended: its session has freed its lock.
        let publish = |write: &str, end: &str| {
            format!(
                "WITH dead AS MATERIALIZED \
                 (SELECT DISTINCT key FROM unnest($3::bigint[]) AS key WHERE pg_try_advisory_xact_lock_shared(key)), \
                 written AS ({write} NOT EXISTS (SELECT FROM dead){end} RETURNING 1), \
                 told AS MATERIALIZED (SELECT pg_notify(channel, message) \
                     FROM unnest($4::text[], $5::text[]) AS line (channel, message), written) \
                 SELECT (SELECT count(*) FROM written), (SELECT count(*) FROM told), ARRAY(SELECT key FROM dead)"
            )
        };
        let create = format!("INSERT INTO bulklink.{table} (name, data) SELECT $1, $2 WHERE");
        let update = format!("UPDATE bulklink.{table} SET data = $2 WHERE name = $1");
        let publish_update = publish(&format!("{update} AND"), "");
        let [read, lock] = ["", " FOR UPDATE"].map(read);
        let create = publish(&create, " ON CONFLICT (name) DO NOTHING");
        let all = [&read, &lock, &create, &update, &publish_update].map(|text| client.prepare(text));
        let statements = try_join_all(all).await?;
        let [read, lock, create, update, publish] = statements.try_into().expect("each has one");
        Ok(Self { read, lock, create, update, publish })
    }
}

/// Runs the commands of one connection.
pub(crate) struct Worker<R: Rows> {
    pub(crate) client: Client,
    pub(crate) statements: Statements,
    pub(crate) jobs: mpsc::UnboundedReceiver<Job<R>>,
    pub(crate) rows: R,
    /// How long commands may take, before the connection is of no more use.
    pub(crate) limit: Duration,
}

impl<R: Rows> Worker<R> {
    /// Runs commands until the connection ends, or until no more can come. Returns why.
    pub(crate) async fn run(mut self) -> StoreError {
        let mut waiting = VecDeque::<Job<R>>::new();
        loop {
            if waiting.is_empty() {
                let Some(job) = self.jobs.recv().await else { return StoreError::UNREACHABLE };
                waiting.push_back(job);
            }
            while let Ok(job) = self.jobs.try_recv() {
                waiting.push_back(job);
            }
            // A command that nobody awaits any more must not take effect after later ones.
            waiting.retain(|job| !job.answer.is_closed());
            let Some(name) = waiting.front().map(|job| job.name.clone()) else { continue };
            let (mut batch, mut others) = (vec![], VecDeque::new());
            for job in waiting {
                if job.name == name && batch.len() < BATCH { batch.push(job) } else { others.push_back(job) }
            }
            waiting = others;
            let refusal = match timeout(self.limit, self.serve(batch)).await {
                Ok(Ok(refusal)) => refusal,
                Ok(Err(End(error))) => return error,
                // Its command has given up before, and others have not been tried.
                Err(_) => return StoreError::UNREACHABLE,
            };
            if refusal == Some(refused("55P03")) {
                // Another session has the row: those that came meanwhile have waited for it too.
                while let Ok(job) = self.jobs.try_recv() {
                    waiting.push_back(job);
                }
                let (same, others) = waiting.into_iter().partition::<Vec<_>, _>(|job| job.name == name);
                waiting = others.into();
                refuse(same, &refused("55P03"));
            }
        }
    }

    /// Runs commands of one name. Returns the error, if they were refused.
    async fn serve(&mut self, batch: Vec<Job<R>>) -> Result<Option<StoreError>, End> {
        let mut dead = BTreeSet::new();
        let mut only_reads = batch.iter().all(|job| R::reads(&job.command));
        for _ in 0..TRIES {
            let tried = if only_reads { self.read(&batch).await? } else { self.try_once(&batch, &dead).await? };
            only_reads = false;
            match tried {
                Tried::Done(done) => {
                    if !self.rows.committed(&batch[0].name, done.told) {
                        return Err(End(StoreError::UNREACHABLE));
                    }
                    for (job, answer) in batch.into_iter().zip(done.answers) {
                        // A call that was dropped wants no answer.
                        let _ = job.answer.send(answer);
                    }
                    return Ok(None);
                }
                Tried::Again(keys) => dead.extend(keys),
                Tried::Refused(error) => {
                    refuse(batch, &error);
                    return if R::ends(&error) { Err(End(ended(error))) } else { Ok(Some(error)) };
                }
            }
        }
        // Each turn finds a link that has ended, or another process created the row meanwhile.
        refuse(batch, &refused("40001"));
        Ok(None)
    }

    /// Answers commands that only read, without a transaction. If one of them would change the row
    /// after all, they are tried again with one.
    async fn read(&self, batch: &[Job<R>]) -> Result<Tried<R>, End> {
        let name = &batch[0].name;
        let found = match self.client.query_one(&self.statements.read, &[&name.as_str()]).await {
            Ok(found) => found,
            Err(error) => return Ok(Tried::Refused(alive(error)?)),
        };
        Ok(match self.apply(batch, &found, &BTreeSet::new()) {
            Ok((done, None)) => Tried::Done(done),
            Ok(_) => Tried::Again(vec![]),
            Err(error) => Tried::Refused(error),
        })
    }

    /// Runs a transaction.
    async fn try_once(&self, batch: &[Job<R>], dead: &BTreeSet<i64>) -> Result<Tried<R>, End> {
        let Worker { client, statements, .. } = self;
        let name = &batch[0].name;
        let begun = client.batch_execute("BEGIN ISOLATION LEVEL READ COMMITTED");
        let (begun, found) = join(begun, client.query_one(&statements.lock, &[&name.as_str()])).await;
        let found = match begun.and(found) {
            Ok(found) => found,
            Err(error) => return self.give_up(alive(error)?).await,
        };
        match self.apply(batch, &found, dead) {
            Ok((done, Some(text))) => self.write(name, found.get::<_, Option<&str>>(0).is_none(), &text, done).await,
            Ok((done, None)) => {
                // The row stays as it is.
                client.batch_execute("COMMIT").await.map_err(|error| End(ended(error)))?;
                Ok(Tried::Done(done))
            }
            Err(error) => self.give_up(error).await,
        }
    }

    /// Applies commands to the row that was found. Returns the text that must be written, if any.
    fn apply(
        &self,
        batch: &[Job<R>],
        found: &tokio_postgres::Row,
        dead: &BTreeSet<i64>,
    ) -> Result<(Done<R>, Option<String>), StoreError> {
        let malformed = |_| refused("MALFORMED");
        let old: Option<&str> = found.try_get(0).map_err(malformed)?;
        let now: i64 = found.try_get(1).map_err(malformed)?;
        let now = u64::try_from(now).map_err(|_| refused("MALFORMED"))?.into();
        let mut done = self.rows.apply(&batch[0].name, old, now, dead, batch.iter().map(|job| &job.command))?;
        let new = done.text.take().filter(|new| old != Some(new));
        Ok((done, new))
    }

    async fn write(&self, name: &Name, is_new: bool, text: &str, done: Done<R>) -> Result<Tried<R>, End> {
        let Worker { client, statements, .. } = self;
        let (name, commit) = (name.as_str(), client.batch_execute("COMMIT"));
        let Notices { keys, channels, messages } = &done.notices;
        let (written, dead, committed) = if !is_new && messages.is_empty() {
            let (written, committed) = join(client.execute(&statements.update, &[&name, &text]), commit).await;
            (written, vec![], committed)
        } else {
            let statement = if is_new { &statements.create } else { &statements.publish };
            let values: [&(dyn ToSql + Sync); 5] = [&name, &text, keys, channels, messages];
            let (row, committed) = join(client.query_one(statement, &values), commit).await;
            let read = |row: tokio_postgres::Row| (u64::from(row.get::<_, i64>(0) > 0), row.get::<_, Vec<i64>>(2));
            match row.map(read) {
                Ok((written, dead)) => (Ok(written), dead, committed),
                Err(error) => (Err(error), vec![], committed),
            }
        };
        // Without a commit, nothing has happened; but if the connection has ended, that is unknown.
        match (written, committed) {
            (Ok(1), Ok(())) => Ok(Tried::Done(done)),
            (Ok(_), Ok(())) => Ok(Tried::Again(dead)),
            (Err(error), Ok(())) | (Ok(_), Err(error)) => Ok(Tried::Refused(alive(error)?)),
            (Err(error), Err(commit)) => {
                alive(commit)?;
                Ok(Tried::Refused(alive(error)?))
            }
        }
    }

    async fn give_up(&self, error: StoreError) -> Result<Tried<R>, End> {
        self.client.batch_execute("ROLLBACK").await.map_err(|error| End(ended(error)))?;
        Ok(Tried::Refused(error))
    }
}

/// The error of a server that goes on with the connection.
fn alive(error: Error) -> Result<StoreError, End> {
    let error = of_statement(error);
    if error.kind() == StoreErrorKind::Unreachable { Err(End(error)) } else { Ok(error) }
}

/// The error of the commands that a connection without use has not answered.
fn ended(cause: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::UNREACHABLE.with_source(Arc::new(cause))
}

fn refuse<R: Rows>(batch: Vec<Job<R>>, error: &StoreError) {
    for job in batch {
        let _ = job.answer.send(Err(error.clone()));
    }
}
