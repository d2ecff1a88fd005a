//! A store that reads the circuit, computes, and writes it: what a server that decides is compared
//! with. It knows the settings of the race alone.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use bulklink_breaker::{Counts, Pass, ProbeId, Settings, State};
use bulklink_circuits::{FAILURES, PROBES};
use bulklink_fleet::circuits::{Asked, Change, Changes, CircuitStore, Force, Forced, Refused, Report, Reported, Row};
use bulklink_fleet::{Name, Namespace, StoreError};
use bulklink_servers::{Connection, Postgres, Server, SqlSession};

/// A text on a server.
pub trait Register: Send + 'static {
    /// Returns the text, empty if there is none.
    fn read(&mut self) -> String;

    /// Replaces it, or leaves it as it is.
    fn write(&mut self, text: Option<&str>);
}

/// The key of a text on Redis.
pub(super) struct OnRedis(Connection);

impl OnRedis {
    pub(super) fn connect(server: &Server) -> Self {
        OnRedis(server.connect().expect("the server runs"))
    }
}

impl Register for OnRedis {
    fn read(&mut self) -> String {
        self.0.call(&["GET", "naive"]).expect("the server runs").text()
    }

    fn write(&mut self, text: Option<&str>) {
        if let Some(text) = text {
            self.0.call(&["SET", "naive", text]).expect("the server runs");
        }
    }
}

/// The row of a text on PostgreSQL.
pub(super) struct OnPostgres {
    session: SqlSession,
    /// Whether nobody else may write between a read and a write.
    locks: bool,
}

impl OnPostgres {
    pub(super) fn set_up(server: &Postgres) {
        server.sql("DROP TABLE IF EXISTS public.naive; CREATE TABLE public.naive (data text); INSERT INTO public.naive VALUES ('')");
    }

    pub(super) fn connect(server: &Postgres, locks: bool) -> Self {
        let mut session = server.connect().expect("the server runs");
        // As the statement of the store.
        session.run("SET synchronous_commit = off").expect("the server runs");
        OnPostgres { session, locks }
    }
}

impl Register for OnPostgres {
    fn read(&mut self) -> String {
        let text = if self.locks {
            "BEGIN; SELECT data FROM public.naive FOR UPDATE"
        } else {
            "SELECT data FROM public.naive"
        };
        let rows = self.session.run(text).expect("the server runs");
        rows.into_iter().flatten().next().unwrap_or_default()
    }

    fn write(&mut self, text: Option<&str>) {
        let update = text.map(|text| format!("UPDATE public.naive SET data = '{text}'"));
        let statements = [update.as_deref(), self.locks.then_some("COMMIT")].into_iter().flatten().collect::<Vec<_>>();
        if !statements.is_empty() {
            self.session.run(&statements.join("; ")).expect("the server runs");
        }
    }
}

/// A connection of a process that reads and then writes.
pub struct Naive<R>(Mutex<R>);

impl<R: Register> Naive<R> {
    /// A connection to a register.
    pub fn new(register: R) -> Self {
        Naive(Mutex::new(register))
    }

    /// Reads, changes and writes. Without a lock, what others have written meanwhile is lost.
    fn change<T>(&self, change: impl FnOnce(&mut Circuit) -> T) -> (T, Row) {
        let mut register = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut circuit = Circuit::of(&register.read());
        let before = circuit;
        let answer = change(&mut circuit);
        register.write((circuit != before).then(|| circuit.text()).as_deref());
        (answer, circuit.row())
    }
}

impl<R> fmt::Debug for Naive<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Naive").finish_non_exhaustive()
    }
}

/// What the text says.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Circuit {
    state: State,
    generation: u64,
    failures: u64,
    probes: u32,
    successes: u32,
}

impl Circuit {
    fn of(text: &str) -> Self {
        let mut numbers = text.split(' ').map(|number| number.parse().unwrap_or(0));
        let mut next = || numbers.next().unwrap_or(0);
        let state = [State::Closed, State::Open, State::HalfOpen][next().min(2) as usize];
        Circuit { state, generation: next().into(), failures: next().into(), probes: next(), successes: next() }
    }

    fn text(&self) -> String {
        let Circuit { state, generation, failures, probes, successes } = self;
        let state = match state {
            State::Closed => 0,
            State::Open => 1,
            State::HalfOpen => 2,
        };
        format!("{state} {generation} {failures} {probes} {successes}")
    }

    fn enter(&mut self, state: State) {
        *self = Circuit { state, generation: self.generation + 1, failures: 0, probes: 0, successes: 0 };
    }

    fn row(&self) -> Row {
        Row {
            state: self.state,
            generation: self.generation,
            retry_after: None,
            is_forced: false,
            counts: Counts { calls: self.failures, failures: self.failures, slow: 0 },
            probe_successes: self.successes,
            probe_failures: 0,
            probes: self.probes,
            settings_differ: false,
        }
    }

    fn admit(&mut self, id: ProbeId) -> Result<Pass, Refused> {
        if self.state == State::Open {
            // The cool-down of the race is over immediately.
            self.enter(State::HalfOpen);
        }
        if self.state == State::HalfOpen && self.probes + self.successes >= PROBES {
            return Err(Refused { state: self.state, retry_after: None });
        }
        self.probes += 1;
        Ok(Pass { generation: self.generation, probe: (self.state == State::HalfOpen).then_some(id) })
    }

    fn report(&mut self, report: &Report) -> bool {
        match (report, self.state) {
            (Report::Closed { generation, outcomes }, State::Closed) if *generation == self.generation => {
                self.failures += outcomes.counts().failures;
                if self.failures >= FAILURES.into() {
                    self.enter(State::Open);
                }
                true
            }
            (Report::Probe { generation, .. }, State::HalfOpen) if *generation == self.generation => {
                (self.probes, self.successes) = (self.probes.saturating_sub(1), self.successes + 1);
                if self.successes >= PROBES {
                    self.enter(State::Closed);
                }
                true
            }
            _ => false,
        }
    }
}

impl<R: Register> CircuitStore for Naive<R> {
    type Changes = NoChanges;

    async fn load(&self, _: &Name, _: &Settings) -> Result<Row, StoreError> {
        Ok(self.change(|_| ()).1)
    }

    async fn admit_probe(&self, _: &Name, _: &Settings, id: ProbeId) -> Result<Asked, StoreError> {
        let (admission, row) = self.change(|circuit| circuit.admit(id));
        Ok(Asked { admission, row })
    }

    async fn report(&self, _: &Name, _: &Settings, report: &Report) -> Result<Reported, StoreError> {
        let (counted, row) = self.change(|circuit| circuit.report(report));
        Ok(Reported { counted, row })
    }

    async fn force(&self, _: &Name, _: Option<u64>, force: Force) -> Result<Forced, StoreError> {
        let state = if force == Force::Open { State::Open } else { State::Closed };
        Ok(Forced::Done(self.change(|circuit| circuit.enter(state)).1))
    }

    async fn changes(&self, _: &Namespace) -> Result<NoChanges, StoreError> {
        Err(StoreError::Unreachable)
    }

    async fn list(&self, _: &Namespace) -> Result<Vec<(Name, Row)>, StoreError> {
        Err(StoreError::Unreachable)
    }
}

/// A subscription that there is none of.
#[derive(Debug)]
pub enum NoChanges {}

impl Changes for NoChanges {
    async fn next(&mut self) -> Result<Change, StoreError> {
        match *self {}
    }
}
