//! Processes of the tests, and the messages of their links.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use bulklink_fleet::share::{Declaration, Grant, Notice, Reply, Statement, Status, Terms};
use bulklink_fleet::{LeaseStore, Link, Name, Namespace, ProcessId, Receiver, Session, StoreError, Token};

/// Far more than anything here takes.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Terms by which nothing ends by itself.
pub const TERMS: Terms = Terms {
    lease: Duration::from_hours(1),
    claim: Duration::from_hours(1),
    calm: Duration::from_millis(20),
    recovers: false,
};

/// Returns the output of a future within a time.
pub async fn within<T>(time: Duration, future: impl Future<Output = T>) -> T {
    let late = async {
        smol::Timer::after(time).await;
        panic!("not within {time:?}")
    };
    smol::future::or(future, late).await
}

/// The messages of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// A notice about a share.
    Notice(Name, Notice),
    /// The link has ended.
    Ended,
}

/// Keeps the messages of a link.
#[derive(Debug, Default)]
pub struct Ears {
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

    /// Returns all messages.
    pub fn told(&self) -> Vec<Told> {
        self.told.lock().unwrap().clone()
    }

    /// Returns the grants, in order.
    pub fn grants(&self) -> Vec<Grant> {
        self.told.lock().unwrap().iter().filter_map(grant).collect()
    }

    /// Returns how often the end was reported.
    pub fn ends(&self) -> usize {
        self.told.lock().unwrap().iter().filter(|told| **told == Told::Ended).count()
    }

    /// Waits until a message fits, and returns all.
    pub fn wait(&self, fits: impl Fn(&Told) -> bool) -> Vec<Told> {
        let told = self.told.lock().unwrap();
        let has_none = |told: &mut Vec<Told>| !told.iter().any(&fits);
        let (told, time) = self.changed.wait_timeout_while(told, PATIENCE, has_none).unwrap();
        assert!(!time.timed_out(), "more is expected: {told:?}");
        told.clone()
    }

    /// Waits for a grant, and returns the last one.
    pub fn granted(&self) -> Grant {
        self.wait(|told| grant(told).is_some()).iter().rev().find_map(grant).expect("there is one")
    }
}

fn grant(told: &Told) -> Option<Grant> {
    match told {
        Told::Notice(_, Notice::Granted(grant)) => Some(*grant),
        _ => None,
    }
}

/// Returns a name in the namespace of the tests.
pub fn name(label: &str) -> Name {
    Name::new(&Namespace::new("test").unwrap(), label).unwrap()
}

/// A process with a link.
#[derive(Debug)]
pub struct Process<L> {
    /// Its identity.
    pub id: ProcessId,
    /// Its link.
    pub link: L,
    /// The messages of the link.
    pub ears: Arc<Ears>,
}

/// The statements of all processes have one series of numbers, so each is later than those before.
static STATEMENTS: AtomicU64 = AtomicU64::new(1);

/// Returns the identity of a process.
pub fn session(number: u128) -> Session {
    Session::new(ProcessId::from(number), format!("process {number}"))
}

impl<L: Link> Process<L> {
    /// Connects.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store cannot.
    pub async fn connect(store: &impl LeaseStore<Link = L>, number: u128) -> Result<Self, StoreError> {
        let ears = Arc::<Ears>::default();
        let session = session(number);
        let link = store.connect(&session, ears.clone()).await?;
        Ok(Process { id: session.id, link, ears })
    }

    /// Connects, or panics.
    pub async fn on(store: &impl LeaseStore<Link = L>, number: u128) -> Self {
        Self::connect(store, number).await.expect("the store is in reach")
    }

    /// Returns the next statement of the process, with a limit of 10.
    pub fn statement(&self, keep: u32, need: u32) -> Statement {
        statement(self.id, keep, need)
    }

    /// Sends a statement that no server refuses.
    ///
    /// # Errors
    ///
    /// [`StoreError`] of the link.
    pub async fn send(&self, name: &Name, statement: Statement) -> Result<Reply, StoreError> {
        Ok(self.link.sync(name, statement).await?.expect("it is no old one"))
    }

    /// States the units that the process keeps and needs, and returns the units that it has then.
    ///
    /// # Errors
    ///
    /// [`StoreError`] of the link.
    pub async fn state(&self, name: &Name, keep: u32, need: u32) -> Result<u32, StoreError> {
        Ok(self.send(name, self.statement(keep, need)).await?.grant.units)
    }

    /// Listens, and states as [`state`](Self::state) does.
    ///
    /// # Errors
    ///
    /// [`StoreError`] of the link.
    pub async fn join(&self, name: &Name, need: u32) -> Result<u32, StoreError> {
        self.link.listen(name).await?;
        self.state(name, 0, need).await
    }

    /// Reads the state of a name, which must have one.
    pub async fn look(&self, name: &Name) -> Status {
        self.link.look(name).await.expect("the server answers").expect("there is a state")
    }

    /// Returns how many units are granted.
    pub async fn granted(&self, name: &Name) -> u64 {
        self.look(name).await.granted
    }
}

/// Returns the next statement of a process, with a limit of 10.
pub fn statement(process: ProcessId, keep: u32, need: u32) -> Statement {
    Statement {
        process,
        seq: STATEMENTS.fetch_add(1, Ordering::Relaxed),
        declaration: Declaration { config: 1, limit: 10, terms: TERMS },
        epoch: None,
        run: None,
        is_young: false,
        longest: TERMS.lease,
        token: Token::default(),
        keep,
        need,
        least: 0,
        spare: 0,
        weight: 1,
    }
}

/// Lets time pass.
pub async fn pass(time: Duration) {
    smol::Timer::after(time).await;
}
