//! Processes of the tests, their runtimes, and what their links tell them.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use bulklink_redis::{
    Answer, CallId, Command, Epoch, Era, LeaseStore, Link, Name, Namespace, Notice, Outcome, OwnerId, Receiver,
    RedisLink, RedisStore, Session, StoreError, Terms,
};

/// Far more than anything here takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) const TERMS: Terms = Terms { ttl: Duration::from_secs(3600), claim: Duration::from_secs(3600), block: 1 };

/// Declares a test on tokio and one on smol for each async function.
macro_rules! on_both {
    ($($name:ident)+) => {
        mod on_tokio {$(
            #[test]
            fn $name() {
                crate::world::on_tokio(super::$name());
            }
        )+}

        mod on_smol {$(
            #[test]
            fn $name() {
                crate::world::on_smol(super::$name());
            }
        )+}
    };
}

pub(crate) use on_both;

pub(crate) fn on_tokio(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(within(PATIENCE * 3, test));
}

pub(crate) fn on_smol(test: impl Future<Output = ()>) {
    smol::block_on(within(PATIENCE * 3, test));
}

/// Panics if a future takes longer.
pub(crate) async fn within<T>(time: Duration, future: impl Future<Output = T>) -> T {
    let late = async {
        smol::Timer::after(time).await;
        panic!("not within {time:?}")
    };
    smol::future::or(future, late).await
}

/// What a link has told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Notice(Name, Notice),
    Ended,
}

/// Keeps what a link tells.
#[derive(Default)]
pub(crate) struct Ears {
    told: Mutex<Vec<Told>>,
    changed: Condvar,
}

impl Receiver for Ears {
    fn notice(&self, name: &Name, notice: Notice) {
        self.tell(Told::Notice(name.clone(), notice));
    }

    fn ended(&self) {
        self.tell(Told::Ended);
    }
}

impl Ears {
    fn tell(&self, told: Told) {
        self.told.lock().unwrap().push(told);
        self.changed.notify_all();
    }

    pub(crate) fn told(&self) -> Vec<Told> {
        self.told.lock().unwrap().clone()
    }

    /// The calls that were granted, in order.
    pub(crate) fn granted(&self) -> Vec<u64> {
        let granted = |told: &Told| match told {
            Told::Notice(_, Notice::Granted { id, .. }) => Some(id.seq),
            _ => None,
        };
        self.told.lock().unwrap().iter().filter_map(granted).collect()
    }

    pub(crate) fn ends(&self) -> usize {
        self.told.lock().unwrap().iter().filter(|told| **told == Told::Ended).count()
    }

    /// Waits until this many events have been told, and returns them.
    pub(crate) fn wait(&self, count: usize) -> Vec<Told> {
        let told = self.told.lock().unwrap();
        let (told, time) = self.changed.wait_timeout_while(told, PATIENCE, |told| told.len() < count).unwrap();
        assert!(!time.timed_out(), "{count} events expected: {told:?}");
        told.clone()
    }
}

pub(crate) fn name(label: &str) -> Name {
    Name::new(&Namespace::new("test").unwrap(), label).unwrap()
}

/// A process with a link.
pub(crate) struct Process {
    pub(crate) owner: OwnerId,
    pub(crate) link: RedisLink,
    pub(crate) ears: Arc<Ears>,
}

pub(crate) fn session(number: u128) -> Session {
    Session { owner: OwnerId::from(number), process: format!("process {number}").into() }
}

impl Process {
    pub(crate) async fn connect(store: &RedisStore, number: u128) -> Result<Self, StoreError> {
        let ears = Arc::<Ears>::default();
        let session = session(number);
        let link = store.connect(&session, ears.clone()).await?;
        Ok(Process { owner: session.owner, link, ears })
    }

    pub(crate) async fn at(url: &str, number: u128) -> Self {
        Self::connect(&RedisStore::new(url).unwrap(), number).await.unwrap()
    }

    pub(crate) fn id(&self, seq: u64) -> CallId {
        CallId { owner: self.owner, seq, cost: 1 }
    }

    pub(crate) async fn call(&self, name: &Name, command: Command) -> Result<Answer, StoreError> {
        self.link.call(name, command).await
    }

    pub(crate) fn opening(&self, limit: u64) -> Command {
        Command::Open {
            owner: self.owner,
            generation: 1,
            limit,
            config: 1,
            terms: TERMS,
            known: None,
            highest: None,
            run: None,
            young: false,
            info: "host/1/program".into(),
        }
    }

    /// Listens, and opens the bulkhead without a quarantine.
    pub(crate) async fn open(&self, name: &Name, limit: u64) -> Result<Epoch, StoreError> {
        self.link.listen(name).await?;
        let answer = self.call(name, self.opening(limit)).await?;
        assert!(matches!(answer.outcome, Outcome::Opened { .. }), "{answer:?}");
        Ok(answer.head.unwrap().epoch.unwrap())
    }

    pub(crate) fn acquiring(&self, seq: u64, epoch: Epoch) -> Command {
        let era = Era { epoch, run: None };
        Command::Acquire { id: self.id(seq), wait: true, queue: 100_000, era, terms: TERMS, give_back: vec![] }
    }

    pub(crate) async fn acquire(&self, name: &Name, seq: u64, epoch: Epoch) -> Result<Outcome, StoreError> {
        Ok(self.call(name, self.acquiring(seq, epoch)).await?.outcome)
    }

    pub(crate) async fn release(&self, name: &Name, seq: u64) -> Result<Outcome, StoreError> {
        Ok(self.call(name, Command::Release { ids: vec![self.id(seq)] }).await?.outcome)
    }

    pub(crate) fn beating(&self, leases: &[u64], epoch: Epoch) -> Command {
        Command::Beat {
            owner: self.owner,
            generation: 1,
            era: Era { epoch, run: None },
            terms: TERMS,
            info: "host/1/program".into(),
            leases: leases.iter().map(|seq| self.id(*seq)).collect(),
            waiters: vec![],
            gone: vec![],
        }
    }

    pub(crate) async fn beat(&self, name: &Name, leases: &[u64], epoch: Epoch) -> Result<Outcome, StoreError> {
        Ok(self.call(name, self.beating(leases, epoch)).await?.outcome)
    }

    /// How many leases the server has.
    pub(crate) async fn leases(&self, name: &Name) -> u64 {
        let answer = self.call(name, Command::Status { offset: 0, count: 0 }).await.unwrap();
        let Outcome::Status(status) = answer.outcome else { panic!("{answer:?}") };
        status.leases
    }
}

pub(crate) fn is_granted(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Granted { .. })
}
