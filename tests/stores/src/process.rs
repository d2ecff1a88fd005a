//! Processes of the tests, and what their links tell them.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use bulklink_fleet::{
    Answer, CallId, Command, Epoch, Era, LeaseStore, Link, Name, Namespace, Notice, Outcome, OwnerId, Receiver,
    Session, StoreError, Terms,
};

/// Far more than anything here takes.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Terms by which nothing ends by itself.
pub const TERMS: Terms = Terms { ttl: Duration::from_hours(1), claim: Duration::from_hours(1), block: 1 };

/// Returns what a future returns within a time.
pub async fn within<T>(time: Duration, future: impl Future<Output = T>) -> T {
    let late = async {
        smol::Timer::after(time).await;
        panic!("not within {time:?}")
    };
    smol::future::or(future, late).await
}

/// What a link has told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// A notice about a bulkhead.
    Notice(Name, Notice),
    /// The link has ended.
    Ended,
}

/// Keeps what a link tells.
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

    /// Returns all that was told.
    pub fn told(&self) -> Vec<Told> {
        self.told.lock().unwrap().clone()
    }

    /// The calls that were granted, in order.
    pub fn granted(&self) -> Vec<u64> {
        let granted = |told: &Told| match told {
            Told::Notice(_, Notice::Granted { id, .. }) => Some(id.seq),
            _ => None,
        };
        self.told.lock().unwrap().iter().filter_map(granted).collect()
    }

    /// Returns how often the end was told.
    pub fn ends(&self) -> usize {
        self.told.lock().unwrap().iter().filter(|told| **told == Told::Ended).count()
    }

    /// Waits until this many events have been told, and returns them.
    pub fn wait(&self, count: usize) -> Vec<Told> {
        let told = self.told.lock().unwrap();
        let (told, time) = self.changed.wait_timeout_while(told, PATIENCE, |told| told.len() < count).unwrap();
        assert!(!time.timed_out(), "{count} events expected: {told:?}");
        told.clone()
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
    pub owner: OwnerId,
    /// Its link.
    pub link: L,
    /// What the link tells.
    pub ears: Arc<Ears>,
}

/// Returns the identity of a process.
pub fn session(number: u128) -> Session {
    Session { owner: OwnerId::from(number), process: format!("process {number}").into() }
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
        Ok(Process { owner: session.owner, link, ears })
    }

    /// Connects, or panics.
    pub async fn on(store: &impl LeaseStore<Link = L>, number: u128) -> Self {
        Self::connect(store, number).await.expect("the store is in reach")
    }

    /// Returns the id of a call of the process.
    pub fn id(&self, seq: u64) -> CallId {
        CallId { owner: self.owner, seq, cost: 1 }
    }

    /// Sends a command.
    ///
    /// # Errors
    ///
    /// [`StoreError`] as the link says.
    pub async fn call(&self, name: &Name, command: Command) -> Result<Answer, StoreError> {
        self.link.call(name, command).await
    }

    /// Returns the command that opens a bulkhead without a quarantine.
    pub fn opening(&self, limit: u64) -> Command {
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
    ///
    /// # Errors
    ///
    /// [`StoreError`] as the link says.
    pub async fn open(&self, name: &Name, limit: u64) -> Result<Epoch, StoreError> {
        self.link.listen(name).await?;
        let answer = self.call(name, self.opening(limit)).await?;
        assert!(matches!(answer.outcome, Outcome::Opened { .. }), "{answer:?}");
        Ok(answer.head.unwrap().epoch.unwrap())
    }

    /// Returns the command by which a call acquires, and waits if it has to.
    pub fn acquiring(&self, seq: u64, epoch: Epoch) -> Command {
        let era = Era { epoch, run: None };
        Command::Acquire { id: self.id(seq), wait: true, queue: 100_000, era, terms: TERMS, give_back: vec![] }
    }

    /// Acquires.
    ///
    /// # Errors
    ///
    /// [`StoreError`] as the link says.
    pub async fn acquire(&self, name: &Name, seq: u64, epoch: Epoch) -> Result<Outcome, StoreError> {
        Ok(self.call(name, self.acquiring(seq, epoch)).await?.outcome)
    }

    /// Releases.
    ///
    /// # Errors
    ///
    /// [`StoreError`] as the link says.
    pub async fn release(&self, name: &Name, seq: u64) -> Result<Outcome, StoreError> {
        Ok(self.call(name, Command::Release { ids: vec![self.id(seq)] }).await?.outcome)
    }

    /// Returns the command that renews leases.
    pub fn beating(&self, leases: &[u64], epoch: Epoch) -> Command {
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

    /// Renews leases.
    ///
    /// # Errors
    ///
    /// [`StoreError`] as the link says.
    pub async fn beat(&self, name: &Name, leases: &[u64], epoch: Epoch) -> Result<Outcome, StoreError> {
        Ok(self.call(name, self.beating(leases, epoch)).await?.outcome)
    }

    /// Returns how many units are in use, as a command says that changes nothing.
    pub async fn leases_by_a_command(&self, name: &Name, epoch: Epoch) -> u64 {
        let era = Era { epoch, run: None };
        // No call has this number.
        let id = self.id(u64::MAX >> 12);
        let asking = Command::Acquire { id, wait: false, queue: 0, era, terms: TERMS, give_back: vec![] };
        let answer = self.call(name, asking).await.expect("the server answers");
        answer.head.expect("the command has a head").used
    }

    /// Returns how many leases the server has.
    pub async fn leases(&self, name: &Name) -> u64 {
        let answer = self.call(name, Command::Status { offset: 0, count: 0 }).await.unwrap();
        let Outcome::Status(status) = answer.outcome else { panic!("{answer:?}") };
        status.leases
    }
}

/// Whether a call was admitted.
pub fn is_granted(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Granted { .. })
}

/// Lets time pass.
pub async fn pass(time: Duration) {
    smol::Timer::after(time).await;
}
