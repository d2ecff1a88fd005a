//! The commands on a link of no process: it looks and resizes, and never states anything.

use std::time::Duration;

use bulklink_fleet::share::{LimitRefusal, Status};
use bulklink_fleet::{LeaseStore, Link, Name, Namespace, StoreError, Version};

use super::report::{List, Resize, Row, Show};
use crate::failure::{Failure, Kind};
use crate::server::{in_time, link};

/// A store, and the link to it while there is one.
pub(crate) struct Client<S: LeaseStore> {
    store: S,
    /// Where the server is.
    pub(crate) address: String,
    timeout: Duration,
    link: Option<S::Link>,
}

impl<S: LeaseStore> Client<S> {
    /// It connects when it is used.
    pub(crate) fn new(store: S, address: String, timeout: Duration) -> Self {
        Client { store, address, timeout, link: None }
    }

    fn failure(&self, error: &StoreError) -> Failure {
        Failure::store(&self.address, error)
    }

    /// All shares of a namespace, or of all.
    pub(crate) async fn list(&mut self, namespace: Option<&Namespace>) -> Result<List, Failure> {
        let mut shares = vec![];
        // It takes several steps, each of which has the limit of the store.
        let names = self.store.names(namespace).await.map_err(|error| self.failure(&error))?;
        for name in names {
            let looked = self.look(&name).await;
            // A share that cannot be read does not hide the others.
            match looked {
                Err(error) if !error.is_refusal() && error != StoreError::MALFORMED => return Err(self.failure(&error)),
                looked => shares.extend(Row::of(&name, looked)),
            }
        }
        Ok(List { shares })
    }

    pub(crate) async fn show(&mut self, name: &Name) -> Result<Show, Failure> {
        Ok(Show::of(name, &self.find(name).await?))
    }

    /// Changes the limit if it has the version, or else the one that it has now.
    pub(crate) async fn resize(&mut self, name: &Name, limit: u32, expect: Option<u64>) -> Result<Resize, Failure> {
        let status = self.find(name).await?;
        let expected = expect.map_or(status.version, Version::from);
        if status.version != expected {
            return Err(conflict(expected, status.version, status.limit));
        }
        let (timeout, link) = (self.timeout, self.link().await);
        let resized = match link {
            Ok(link) => in_time(timeout, link.resize(name, limit, expected)).await,
            Err(error) => Err(error),
        };
        match resized.map_err(|error| Failure::change(&self.address, &error, "limit"))? {
            Ok(version) => Ok(Resize::of(name, limit, version, status.limit)),
            Err(LimitRefusal::Version { current, limit }) => Err(conflict(expected, current, limit)),
            Err(_) => Err(Failure::not_found("share", name)),
        }
    }

    async fn find(&mut self, name: &Name) -> Result<Status, Failure> {
        let status = self.look(name).await.map_err(|error| self.failure(&error))?;
        status.ok_or_else(|| Failure::not_found("share", name))
    }

    async fn look(&mut self, name: &Name) -> Result<Option<Status>, StoreError> {
        let timeout = self.timeout;
        let looked = in_time(timeout, self.link().await?.look(name)).await;
        if looked.as_ref().is_err_and(|error| !error.is_refusal()) {
            self.link = None;
        }
        looked
    }

    async fn link(&mut self) -> Result<&S::Link, StoreError> {
        if self.link.is_none() {
            self.link = Some(link(&self.store, self.timeout).await?);
        }
        self.link.as_ref().ok_or(StoreError::UNREACHABLE)
    }
}

fn conflict(expected: Version, current: Version, limit: u32) -> Failure {
    let text = format!("the limit has version {current}, not {expected}: it is {limit} now, and was not changed");
    Failure::new(Kind::Conflict, text)
}
