//! A store that reads the circuit, does the step, and writes it, without a lock: a server on which
//! all of it is one step is compared with it.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use bulklink::runtime::Instant;
use bulklink_breaker::Settings;
use bulklink_fleet::circuits::record::Record;
use bulklink_fleet::circuits::{Change, Changes, CircuitStore, Operation, Reply, Row};
use bulklink_fleet::{Name, Namespace, StoreError};
use bulklink_servers::{Connection, Postgres, Server, SqlSession};

/// A text on a server.
pub trait Register: Send + 'static {
    /// Returns the text, empty if there is none.
    fn read(&mut self) -> String;

    /// Replaces it.
    fn write(&mut self, text: &str);
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

    fn write(&mut self, text: &str) {
        self.0.call(&["SET", "naive", text]).expect("the server runs");
    }
}

/// The row of a text on PostgreSQL.
pub(super) struct OnPostgres(SqlSession);

impl OnPostgres {
    pub(super) fn set_up(server: &Postgres) {
        server.sql("DROP TABLE IF EXISTS public.naive; CREATE TABLE public.naive (data text); INSERT INTO public.naive VALUES ('')");
    }

    pub(super) fn connect(server: &Postgres) -> Self {
        let mut session = server.connect().expect("the server runs");
        // As the transactions of the store.
        session.run("SET synchronous_commit = off").expect("the server runs");
        OnPostgres(session)
    }
}

impl Register for OnPostgres {
    fn read(&mut self) -> String {
        let rows = self.0.run("SELECT data FROM public.naive").expect("the server runs");
        rows.into_iter().flatten().next().unwrap_or_default()
    }

    fn write(&mut self, text: &str) {
        self.0.run(&format!("UPDATE public.naive SET data = '{text}'")).expect("the server runs");
    }
}

/// A connection of a process that reads and then writes.
pub struct Naive<R>(Mutex<R>);

impl<R: Register> Naive<R> {
    /// A connection to a register.
    pub fn new(register: R) -> Self {
        Naive(Mutex::new(register))
    }
}

impl<R> fmt::Debug for Naive<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Naive").finish_non_exhaustive()
    }
}

impl<R: Register> CircuitStore for Naive<R> {
    type Changes = NoChanges;

    /// Reads, changes and writes. What others have written meanwhile is lost.
    async fn operate(&self, _: &Name, settings: Option<&Settings>, operation: &Operation) -> Result<Reply, StoreError> {
        let mut register = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let time = UNIX_EPOCH.elapsed().expect("it is later").as_micros();
        let now = Instant::EPOCH + Duration::from_micros(u64::try_from(time).expect("it is earlier"));
        let mut record = Record::of_text(&register.read()).unwrap_or_else(|| Record::new(now));
        let before = record.clone();
        let reply = record.apply(now, settings, operation);
        if record != before {
            register.write(&record.text());
        }
        reply
    }

    async fn changes(&self, _: &Namespace) -> Result<NoChanges, StoreError> {
        Err(StoreError::UNREACHABLE)
    }

    async fn list(&self, _: &Namespace) -> Result<Vec<(Name, Row)>, StoreError> {
        Err(StoreError::UNREACHABLE)
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
