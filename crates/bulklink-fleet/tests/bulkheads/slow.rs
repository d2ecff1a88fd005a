//! A store that is slow, refuses, or is young, and counts its commands.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bulklink::runtime::{Clock, Instant, Timer};
use bulklink::testing::FakeRuntime;
use bulklink_fleet::share::{Answer, LimitRefusal, Statement, Status};
use bulklink_fleet::{
    LeaseStore, Link, MemoryLink, MemoryStore, Name, Namespace, Receiver, Server, Session, StoreError, Version,
};

/// The store in memory, in such a weather.
#[derive(Clone)]
pub(crate) struct Slow {
    pub(crate) inner: MemoryStore,
    pub(crate) runtime: FakeRuntime,
    pub(crate) weather: Arc<Weather>,
    /// When the server began, if a link is given its age as of when it was made.
    pub(crate) began: Option<Instant>,
}

/// The behaviour of the store, and the number of its commands.
#[derive(Default)]
pub(crate) struct Weather {
    /// The milliseconds that each statement takes, one after the other.
    pub(crate) statement_millis: AtomicU64,
    /// How many statements are still refused.
    pub(crate) refusals: AtomicU64,
    pub(crate) statements: AtomicU64,
    /// The milliseconds that listening takes, and its end.
    pub(crate) millis: AtomicU64,
    /// Whether these are refused.
    pub(crate) refuses: AtomicBool,
    pub(crate) has_no_run: AtomicBool,
    pub(crate) listened: AtomicUsize,
    pub(crate) unlistened: AtomicU64,
    /// How many names are asked for at the same time, now and at most.
    pub(crate) at_once: Mutex<(usize, usize)>,
}

pub(crate) struct SlowLink {
    inner: MemoryLink,
    store: Slow,
    free_at: Mutex<Instant>,
    made: Instant,
}

impl Slow {
    async fn pass(&self) -> Result<(), StoreError> {
        let millis = self.weather.millis.load(SeqCst);
        if millis > 0 {
            self.runtime.sleep_until(self.runtime.now() + Duration::from_millis(millis)).await;
        }
        let refused = StoreError::refused("NOPERM");
        if self.weather.refuses.load(SeqCst) { Err(refused) } else { Ok(()) }
    }
}

impl LeaseStore for Slow {
    type Link = SlowLink;

    async fn connect(&self, session: &Session, receiver: Arc<dyn Receiver>) -> Result<SlowLink, StoreError> {
        let (inner, now) = (self.inner.connect(session, receiver).await?, self.runtime.now());
        Ok(SlowLink { inner, store: self.clone(), free_at: Mutex::new(now), made: now })
    }

    async fn names(&self, namespace: Option<&Namespace>) -> Result<Vec<Name>, StoreError> {
        self.inner.names(namespace).await
    }
}

impl SlowLink {
    async fn turn(&self) {
        let millis = self.store.weather.statement_millis.load(SeqCst);
        if millis == 0 {
            return;
        }
        let at = {
            let mut free = self.free_at.lock().unwrap();
            *free = (*free).max(self.store.runtime.now()) + Duration::from_millis(millis);
            *free
        };
        self.store.runtime.sleep_until(at).await;
    }
}

impl Link for SlowLink {
    async fn listen(&self, name: &Name) -> Result<Server, StoreError> {
        let weather = &self.store.weather;
        weather.listened.fetch_add(1, SeqCst);
        {
            let mut at_once = weather.at_once.lock().unwrap();
            at_once.0 += 1;
            at_once.1 = at_once.1.max(at_once.0);
        }
        let passed = self.store.pass().await;
        weather.at_once.lock().unwrap().0 -= 1;
        passed?;
        let server = self.inner.listen(name).await?;
        let age = self.store.began.map(|began| self.made.saturating_since(began));
        let run = if weather.has_no_run.load(SeqCst) { None } else { server.run };
        Ok(Server::new(run, age.or(server.age)))
    }

    async fn unlisten(&self, name: &Name) -> Result<(), StoreError> {
        self.store.weather.unlistened.fetch_add(1, SeqCst);
        self.store.pass().await?;
        self.inner.unlisten(name).await
    }

    async fn sync(&self, name: &Name, statement: Statement) -> Result<Answer, StoreError> {
        self.turn().await;
        let weather = &self.store.weather;
        weather.statements.fetch_add(1, SeqCst);
        if weather.refusals.load(SeqCst) > 0 {
            weather.refusals.fetch_sub(1, SeqCst);
            return Err(StoreError::refused("55P03"));
        }
        self.inner.sync(name, statement).await
    }

    async fn resize(
        &self,
        name: &Name,
        limit: u32,
        expected: Version,
    ) -> Result<Result<Version, LimitRefusal>, StoreError> {
        self.inner.resize(name, limit, expected).await
    }

    async fn look(&self, name: &Name) -> Result<Option<Status>, StoreError> {
        if self.store.weather.refuses.load(SeqCst) {
            return Err(StoreError::refused("NOPERM"));
        }
        self.inner.look(name).await
    }
}
