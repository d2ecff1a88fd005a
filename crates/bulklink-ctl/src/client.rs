//! The connection, and the commands on it: it reads, reaps and resizes, and never opens a bulkhead.

use std::sync::Arc;
use std::time::Duration;

use bulklink_redis::{
    Answer, Command, Head, LeaseStore, Link, Name, Namespace, Notice, Outcome, OwnerId, Receiver, RedisLink,
    RedisStore, Session, Status, StoreError, Version,
};

use crate::args::Settings;
use crate::failure::{Failure, Kind};
use crate::reading::{self, PAGE, Reading};
use crate::report::{List, Row, Show, now_ms};

/// A connection to the server.
pub(crate) struct Client {
    store: RedisStore,
    timeout: Duration,
    link: RedisLink,
}

/// What a new limit has done.
pub(crate) struct Resized {
    pub(crate) previous: u64,
    pub(crate) head: Head,
}

/// What was dropped.
pub(crate) struct Reaped {
    pub(crate) units: u64,
    pub(crate) waiters: u64,
    pub(crate) head: Head,
}

/// A link that listens to nothing is told nothing.
struct Deaf;

impl Receiver for Deaf {
    fn notice(&self, _: &Name, _: Notice) {}

    fn ended(&self) {}
}

impl Client {
    pub(crate) async fn connect(settings: &Settings) -> Result<Self, Failure> {
        let (store, timeout) = (settings.store.clone(), settings.timeout);
        let link = link(&store, timeout).await;
        match link {
            Ok(link) => Ok(Client { store, timeout, link }),
            Err(error) => Err(Failure::store(&store.address(), &error)),
        }
    }

    fn address(&self) -> String {
        self.store.address()
    }

    fn failure(&self, error: &StoreError) -> Failure {
        Failure::store(&self.address(), error)
    }

    /// All bulkheads of a namespace, or of all.
    pub(crate) async fn list(&mut self, namespace: Option<&Namespace>) -> Result<List, Failure> {
        let mut bulkheads = vec![];
        for name in self.names(namespace).await? {
            let read = self.read(&name, 0).await;
            if let Err(error @ (StoreError::Unreachable | StoreError::TimedOut)) = read {
                return Err(self.failure(&error));
            }
            bulkheads.extend(Row::of(&name, read));
        }
        Ok(List { at_ms: now_ms(), bulkheads })
    }

    /// One bulkhead, with at most so many holders, waiters and processes.
    pub(crate) async fn show(&mut self, name: &Name, top: usize) -> Result<Show, Failure> {
        match self.read(name, top).await {
            Ok(Some(reading)) => Ok(Show::of(name, &reading, top)),
            Ok(None) => Err(Failure::not_found(name)),
            Err(error) => Err(self.failure(&error)),
        }
    }

    /// The names in a namespace, or in all.
    async fn names(&self, namespace: Option<&Namespace>) -> Result<Vec<Name>, Failure> {
        // It takes several steps, each of which has the limit of the store.
        let names = match namespace {
            Some(namespace) => self.store.names(namespace).await,
            None => self.store.all_names().await,
        };
        names.map_err(|error| self.failure(&error))
    }

    async fn read(&mut self, name: &Name, top: usize) -> Result<Option<Reading>, StoreError> {
        reading::read(async |offset| self.status(name, offset).await, top).await
    }

    async fn status(&mut self, name: &Name, offset: u64) -> Result<Status, StoreError> {
        match self.call(name, Command::Status { offset, count: PAGE }).await {
            Ok(Answer { outcome: Outcome::Status(status), .. }) => Ok(*status),
            Ok(_) => Err(StoreError::Malformed),
            Err(StoreError::Malformed) => {
                // What is at the keys of one bulkhead must not hide the others. The link is over.
                self.link = link(&self.store, self.timeout).await?;
                Err(StoreError::Malformed)
            }
            Err(error) => Err(error),
        }
    }

    /// Changes the limit if it has the version, or else the one that it has now.
    pub(crate) async fn resize(&mut self, name: &Name, limit: u64, expect: Option<u64>) -> Result<Resized, Failure> {
        let status = self.status(name, 0).await.map_err(|error| self.failure(&error))?;
        let config = status.settings.ok_or_else(|| Failure::not_found(name))?;
        let expected = expect.map_or(config.version, Version::from);
        let answer = self.call(name, Command::SetLimit { limit, expected }).await;
        let answer = answer.map_err(|error| self.uncertain(&error))?;
        match (answer.outcome, answer.head) {
            (Outcome::Done, Some(head)) => Ok(Resized { previous: config.limit, head }),
            (Outcome::VersionConflict, Some(Head { version, limit, .. })) => Err(Failure::new(
                Kind::Conflict,
                format!("the limit has version {version}, not {expected}: it is {limit} now"),
            )),
            (Outcome::Stale, _) => Err(Failure::not_found(name)),
            _ => Err(self.failure(&StoreError::Malformed)),
        }
    }

    /// A command that got no answer may have had its effect.
    fn uncertain(&self, error: &StoreError) -> Failure {
        let failure = self.failure(error);
        match failure.kind() {
            Kind::Unreachable => Failure::new(Kind::Unreachable, format!("{failure}; the limit may have changed")),
            _ => failure,
        }
    }

    /// Drops what has expired.
    pub(crate) async fn reap(&self, name: &Name) -> Result<Reaped, Failure> {
        let (mut units, mut waiters, mut offset) = (0, 0, 0);
        loop {
            let answer = self.call(name, Command::Reap { full: true, offset }).await;
            match answer.map_err(|error| self.failure(&error))? {
                Answer { outcome: Outcome::Reaped { freed, dropped, next }, head: Some(head) } => {
                    (units, waiters, offset) = (units + freed, waiters + dropped, next);
                    if !head.more {
                        return Ok(Reaped { units, waiters, head });
                    }
                }
                Answer { outcome: Outcome::Stale, .. } => return Err(Failure::not_found(name)),
                _ => return Err(self.failure(&StoreError::Malformed)),
            }
        }
    }

    async fn call(&self, name: &Name, command: Command) -> Result<Answer, StoreError> {
        let call = tokio::time::timeout(self.timeout, self.link.call(name, command));
        call.await.unwrap_or(Err(StoreError::TimedOut))
    }
}

/// A link of no process: it listens to no name.
pub(crate) async fn link(store: &RedisStore, timeout: Duration) -> Result<RedisLink, StoreError> {
    let session = Session { owner: OwnerId::from(0), process: "bulklink-ctl".into() };
    // The store's own limit is for each of several steps.
    let connecting = tokio::time::timeout(timeout * 2, store.connect(&session, Arc::new(Deaf)));
    connecting.await.unwrap_or(Err(StoreError::TimedOut))
}
