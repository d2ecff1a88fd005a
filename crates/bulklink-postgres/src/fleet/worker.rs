//! Runs commands on the server, one transaction after the other.
//!
//! A transaction locks the row of its name, so all that happens to a name has one order.
//! The commands of one name that wait meanwhile share the next transaction.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use bulklink_fleet::{Name, ServerTime, StoreError};
use futures_util::future::join;
use tokio::sync::{mpsc, oneshot};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Statement};

use super::error::{refused, store_error};
use super::row::Row;
use super::shared::Shared;
use super::step::{Answer, Command, Done, Me};
use crate::failure::Failure;

/// The largest number of commands in a transaction, which holds a lock.
const BATCH: usize = 64;

/// Links that have ended are found one transaction after the other.
const TRIES: usize = 100;

/// A command, and where its answer goes.
pub(crate) struct Job {
    pub(crate) name: Name,
    pub(crate) command: Command,
    pub(crate) answer: oneshot::Sender<Result<Answer, StoreError>>,
}

/// The connection is of no more use.
pub(crate) struct End;

/// What a transaction came to.
enum Tried {
    /// The commands have taken effect.
    Done(Done),
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

const READ: &str = "SELECT t.data, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint \
    FROM (SELECT 1) AS one LEFT JOIN (SELECT data FROM bulklink.fleet WHERE name = $1) AS t ON true";

/// The clock is read above the lock, so after it was waited for.
const LOCK: &str = "SELECT t.data, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint \
    FROM (SELECT 1) AS one LEFT JOIN (SELECT data FROM bulklink.fleet WHERE name = $1 FOR UPDATE) AS t ON true";

const CREATE: &str = "INSERT INTO bulklink.fleet (name, data) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";

const UPDATE: &str = "UPDATE bulklink.fleet SET data = $2 WHERE name = $1";

/// Writes and tells others, unless one of them has ended: its session has let go of its lock then.
const PUBLISH: &str = "WITH dead AS MATERIALIZED \
    (SELECT DISTINCT key FROM unnest($3::bigint[]) AS key WHERE pg_try_advisory_xact_lock_shared(key)), \
    written AS (UPDATE bulklink.fleet SET data = $2 WHERE name = $1 AND NOT EXISTS (SELECT FROM dead) RETURNING 1), \
    told AS MATERIALIZED (SELECT pg_notify(channel, message) \
        FROM unnest($4::text[], $5::text[]) AS line (channel, message), written) \
    SELECT (SELECT count(*) FROM written), (SELECT count(*) FROM told), ARRAY(SELECT key FROM dead)";

impl Statements {
    pub(crate) async fn prepare(client: &Client) -> Result<Self, Error> {
        Ok(Self {
            read: client.prepare(READ).await?,
            lock: client.prepare(LOCK).await?,
            create: client.prepare(CREATE).await?,
            update: client.prepare(UPDATE).await?,
            publish: client.prepare(PUBLISH).await?,
        })
    }
}

/// Runs the commands of one link.
pub(crate) struct Worker {
    pub(crate) client: Client,
    pub(crate) statements: Statements,
    pub(crate) jobs: mpsc::UnboundedReceiver<Job>,
    pub(crate) me: Me,
    pub(crate) shared: Arc<Shared>,
}

impl Worker {
    /// Runs commands until the connection ends, or until no more can come.
    pub(crate) async fn run(mut self) {
        let mut waiting = VecDeque::new();
        loop {
            if waiting.is_empty() {
                let Some(job) = self.jobs.recv().await else { return };
                waiting.push_back(job);
            }
            while let Ok(job) = self.jobs.try_recv() {
                waiting.push_back(job);
            }
            let same = |job: &&Job| job.name == waiting[0].name;
            let count = waiting.iter().take(BATCH).take_while(same).count();
            let batch: Vec<Job> = waiting.drain(..count).collect();
            if let Err(End) = self.serve(batch).await {
                return;
            }
        }
    }

    async fn serve(&mut self, batch: Vec<Job>) -> Result<(), End> {
        if batch.iter().all(|job| matches!(job.command, Command::Look)) {
            return self.look(batch).await;
        }
        let mut dead = BTreeSet::new();
        for _ in 0..TRIES {
            match self.try_once(&batch, &dead).await? {
                Tried::Done(_) if self.shared.is_over() => return Err(End),
                Tried::Done(done) => {
                    for notice in done.told {
                        self.shared.tell(&batch[0].name, notice);
                    }
                    for (job, answer) in batch.into_iter().zip(done.answers) {
                        // A call that was dropped wants no answer.
                        let _ = job.answer.send(Ok(answer));
                    }
                    return Ok(());
                }
                Tried::Again(keys) => dead.extend(keys),
                Tried::Refused(error) => {
                    refuse(batch, &error);
                    return Ok(());
                }
            }
        }
        // Each turn finds a link that has ended, or another process created the row meanwhile.
        refuse(batch, &refused("40001"));
        Ok(())
    }

    /// Answers commands that only read.
    async fn look(&mut self, batch: Vec<Job>) -> Result<(), End> {
        let found = self.client.query_one(&self.statements.read, &[&batch[0].name.as_str()]).await;
        let found = match found {
            Ok(found) => decode(&found),
            Err(error) => Err(alive(&error)?),
        };
        match found {
            Ok((row, now)) => {
                for job in batch {
                    let _ = job.answer.send(Ok(Answer::Look(row.allocator.status(now))));
                }
            }
            Err(error) => refuse(batch, &error),
        }
        Ok(())
    }

    /// Runs a transaction.
    async fn try_once(&mut self, batch: &[Job], dead: &BTreeSet<i64>) -> Result<Tried, End> {
        let Worker { client, statements, .. } = &*self;
        let name = &batch[0].name;
        let begun = client.batch_execute("BEGIN ISOLATION LEVEL READ COMMITTED");
        let (begun, found) = join(begun, client.query_one(&statements.lock, &[&name.as_str()])).await;
        let found = match begun.and(found) {
            Ok(found) => found,
            Err(error) => return self.give_up(alive(&error)?).await,
        };
        let (mut row, now) = match decode(&found) {
            Ok(found) => found,
            Err(error) => return self.give_up(error).await,
        };
        let old: Option<&str> = found.get(0);
        let listens = self.shared.listens(name);
        let commands = batch.iter().map(|job| &job.command);
        let done = row.apply(now, &self.me, listens, dead, name, commands);
        let new = row.encode();
        let Some(new) = new.filter(|new| old != Some(new)) else {
            // What was read is all there is to answer.
            client.batch_execute("COMMIT").await.map_err(|_| End)?;
            return Ok(Tried::Done(done));
        };
        self.write(name, old.is_none(), &new, done).await
    }

    async fn write(&self, name: &Name, is_new: bool, text: &str, done: Done) -> Result<Tried, End> {
        let Worker { client, statements, .. } = self;
        let (name, commit) = (name.as_str(), client.batch_execute("COMMIT"));
        let (written, dead, committed) = if is_new || done.keys.is_empty() {
            let statement = if is_new { &statements.create } else { &statements.update };
            let (written, committed) = join(client.execute(statement, &[&name, &text]), commit).await;
            (written, vec![], committed)
        } else {
            let Done { keys, channels, messages, .. } = &done;
            let values: [&(dyn ToSql + Sync); 5] = [&name, &text, keys, channels, messages];
            let (row, committed) = join(client.query_one(&statements.publish, &values), commit).await;
            let read = |row: tokio_postgres::Row| (u64::from(row.get::<_, i64>(0) > 0), row.get::<_, Vec<i64>>(2));
            match row.map(read) {
                Ok((written, dead)) => (Ok(written), dead, committed),
                Err(error) => (Err(error), vec![], committed),
            }
        };
        // What was not committed has not happened; but a connection that has ended tells nothing.
        match (written, committed) {
            (Ok(1), Ok(())) => Ok(Tried::Done(done)),
            (Ok(_), Ok(())) => Ok(Tried::Again(dead)),
            (Err(error), Ok(())) | (Ok(_), Err(error)) => Ok(Tried::Refused(alive(&error)?)),
            (Err(error), Err(commit)) => {
                alive(&commit)?;
                Ok(Tried::Refused(alive(&error)?))
            }
        }
    }

    async fn give_up(&self, error: StoreError) -> Result<Tried, End> {
        self.client.batch_execute("ROLLBACK").await.map_err(|_| End)?;
        Ok(Tried::Refused(error))
    }
}

/// The error of a server that goes on with the connection.
fn alive(error: &Error) -> Result<StoreError, End> {
    match Failure::of(error) {
        Failure::Lost | Failure::TimedOut => Err(End),
        failure => Ok(store_error(&failure)),
    }
}

/// A row and the time of the server.
fn decode(found: &tokio_postgres::Row) -> Result<(Row, ServerTime), StoreError> {
    let malformed = || refused("MALFORMED");
    let text: Option<&str> = found.try_get(0).map_err(|_| malformed())?;
    let now: i64 = found.try_get(1).map_err(|_| malformed())?;
    let row = text.map_or_else(|| Ok(Row::default()), Row::decode).map_err(|_| malformed())?;
    Ok((row, u64::try_from(now).map_err(|_| malformed())?.into()))
}

fn refuse(batch: Vec<Job>, error: &StoreError) {
    for job in batch {
        let _ = job.answer.send(Err(error.clone()));
    }
}
