//! A store that is slow, refuses, or is young.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bulklink::runtime::{Clock, Instant, Timer};
use bulklink::testing::FakeRuntime;
use bulklink_fleet::share::{self, LimitRefusal, Statement};
use bulklink_fleet::*;

/// A memory store with a latency, one command after the other, that refuses, and whose age is that
/// of when the link was made, as `Server::age` says.
#[derive(Clone)]
pub(crate) struct Slow {
    pub(crate) inner: MemoryStore,
    pub(crate) runtime: FakeRuntime,
    pub(crate) latency: Duration,
    pub(crate) refusals: Arc<AtomicU32>,
    pub(crate) syncs: Arc<AtomicU64>,
    pub(crate) began: Option<Instant>,
}

pub(crate) struct SlowLink {
    pub(crate) inner: MemoryLink,
    store: Slow,
    free_at: Mutex<Instant>,
    made: Instant,
}

impl LeaseStore for Slow {
    type Link = SlowLink;
    async fn connect(&self, session: &Session, receiver: Arc<dyn Receiver>) -> Result<SlowLink, StoreError> {
        let inner = self.inner.connect(session, receiver).await?;
        let now = self.runtime.now();
        Ok(SlowLink { inner, store: self.clone(), free_at: Mutex::new(now), made: now })
    }
}

impl SlowLink {
    async fn turn(&self) {
        if self.store.latency.is_zero() {
            return;
        }
        let at = {
            let mut free = self.free_at.lock().unwrap();
            *free = (*free).max(self.store.runtime.now()) + self.store.latency;
            *free
        };
        self.store.runtime.sleep_until(at).await;
    }
}

impl Link for SlowLink {
    async fn listen(&self, name: &Name) -> Result<Server, StoreError> {
        let server = self.inner.listen(name).await?;
        let age = self.store.began.map(|began| self.made.saturating_since(began));
        Ok(Server { age: age.or(server.age), ..server })
    }
    async fn unlisten(&self, name: &Name) -> Result<(), StoreError> {
        self.inner.unlisten(name).await
    }
    async fn sync(&self, name: &Name, statement: Statement) -> Result<share::Answer, StoreError> {
        self.turn().await;
        self.store.syncs.fetch_add(1, SeqCst);
        if self.store.refusals.load(SeqCst) > 0 {
            self.store.refusals.fetch_sub(1, SeqCst);
            return Err(StoreError::Refused { code: "55P03".into() });
        }
        self.inner.sync(name, statement).await
    }
    async fn resize(
        &self,
        name: &Name,
        limit: u32,
        expected: Version,
    ) -> Result<Result<Version, LimitRefusal>, StoreError> {
        self.turn().await;
        self.inner.resize(name, limit, expected).await
    }
    async fn look(&self, name: &Name) -> Result<Option<share::Status>, StoreError> {
        self.turn().await;
        self.inner.look(name).await
    }
}
