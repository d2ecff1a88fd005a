//! A store that does what a test wants with single commands.

use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

use bulklink::testing::{FakeClock, FakeRuntime};
use bulklink_fleet::{
    Answer, CallId, Command, Fleet, LeaseStore, Link, MemoryLink, MemoryStore, Name, Receiver, Server, Session,
    StoreError,
};

use crate::scene::{Process, Scene};

/// What a link is asked for.
pub(crate) enum Step<'a> {
    Connect,
    Listen(&'a Name),
    Call(&'a Name, &'a Command),
}

/// What comes of it.
pub(crate) enum Fate {
    Usual,
    /// There is no answer, ever.
    Never,
    /// As usual, after a time.
    Late(Duration),
    /// The command has no effect.
    Fails(StoreError),
    /// The link says that it has ended, and goes on.
    Ended,
}

type Rule = Arc<dyn Fn(Step<'_>) -> Fate + Send + Sync>;

/// A store in memory with rules.
pub(crate) struct OddStore {
    store: MemoryStore,
    clock: FakeClock,
    rule: Rule,
}

pub(crate) struct OddLink {
    link: MemoryLink,
    clock: FakeClock,
    rule: Rule,
    receiver: Arc<dyn Receiver>,
}

pub(crate) fn refusal() -> StoreError {
    StoreError::Refused { code: "NOPERM".into() }
}

impl LeaseStore for OddStore {
    type Link = OddLink;

    async fn connect(&self, session: &Session, receiver: Arc<dyn Receiver>) -> Result<OddLink, StoreError> {
        let rule = Arc::clone(&self.rule);
        let usual = self.store.connect(session, Arc::clone(&receiver));
        let link = obey(rule(Step::Connect), &self.clock, &receiver, usual).await?;
        Ok(OddLink { link, clock: self.clock.clone(), rule, receiver })
    }
}

impl Link for OddLink {
    async fn listen(&self, name: &Name) -> Result<Server, StoreError> {
        let fate = (self.rule)(Step::Listen(name));
        let usual = self.link.listen(name);
        obey(fate, &self.clock, &self.receiver, usual).await
    }

    async fn call(&self, name: &Name, command: Command) -> Result<Answer, StoreError> {
        let fate = (self.rule)(Step::Call(name, &command));
        let usual = self.link.call(name, command);
        obey(fate, &self.clock, &self.receiver, usual).await
    }
}

async fn obey<T>(
    fate: Fate,
    clock: &FakeClock,
    receiver: &Arc<dyn Receiver>,
    usual: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    match fate {
        Fate::Usual => usual.await,
        Fate::Never => pending().await,
        Fate::Late(time) => {
            clock.sleep(time).await;
            usual.await
        }
        Fate::Fails(error) => Err(error),
        Fate::Ended => {
            receiver.ended();
            usual.await
        }
    }
}

impl Scene {
    /// Adds a fleet with a store that obeys a rule, above the store of the scene.
    pub(crate) fn odd_fleet(&mut self, rule: impl Fn(Step<'_>) -> Fate + Send + Sync + 'static) -> Fleet<FakeRuntime> {
        let store = OddStore { store: self.store.clone(), clock: self.executor.clock(), rule: Arc::new(rule) };
        let builder = Fleet::builder(store, self.executor.runtime()).namespace("test");
        let fleet = builder.build().expect("the values are valid");
        self.executor.run_until_idle();
        fleet
    }

    /// Adds a process with a bulkhead of one unit, and a store that obeys a rule.
    pub(crate) fn odd_process(&mut self, rule: impl Fn(Step<'_>) -> Fate + Send + Sync + 'static) -> Process {
        let fleet = self.odd_fleet(rule);
        let bulkhead = fleet.bulkhead("payments").limit(1).waiting_room(100).build().expect("the values are valid");
        self.executor.run_until_idle();
        Process { fleet, bulkhead }
    }
}

/// Tells the first call that asks from the later ones.
#[derive(Default)]
pub(crate) struct First(std::sync::OnceLock<CallId>);

impl First {
    pub(crate) fn is(&self, id: CallId) -> bool {
        *self.0.get_or_init(|| id) == id
    }
}
