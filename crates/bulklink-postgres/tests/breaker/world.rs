//! A private server as a subject of the suite.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bulklink_breaker::Settings;
use bulklink_circuits::Subject;
use bulklink_fleet::circuits::{CircuitStore, Row};
use bulklink_fleet::{Name, Namespace, StoreError};
use bulklink_postgres::breaker::PostgresCircuits;
use bulklink_postgres::plumbing::with_clock;
use bulklink_postgres::{Part, PostgresStore, PostgresStoreBuilder};
use bulklink_servers::{Missing, Postgres, SqlSession};
use tokio::runtime::{Builder, Runtime};

const PATIENCE: Duration = Duration::from_secs(20);

/// Where the statements read the time.
const CLOCK: &str = "(SELECT micros FROM public.clock)";

/// A private server, in virtual time.
#[derive(Clone)]
pub(crate) struct Postgresql {
    runtime: Arc<Runtime>,
    session: Arc<Mutex<SqlSession>>,
    server: Arc<Postgres>,
}

impl Postgresql {
    pub(crate) fn start() -> Result<Self, Missing> {
        let server = start()?;
        server.sql("CREATE TABLE public.clock (micros bigint); INSERT INTO public.clock VALUES (0)");
        server.sql("GRANT SELECT ON public.clock TO tests");
        let session = Arc::new(Mutex::new(server.connect().expect("it runs")));
        Ok(Postgresql { runtime: Arc::new(runtime()), session, server: Arc::new(server) })
    }

    pub(crate) fn sql(&self, text: &str) -> Vec<Vec<String>> {
        self.session.lock().unwrap().run(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }
}

impl Subject for Postgresql {
    type Store = PostgresCircuits;

    fn store(&self) -> PostgresCircuits {
        with_clock(circuits(&self.server.url()), CLOCK)
    }

    fn set_now(&self, micros: u64) {
        self.sql(&format!("UPDATE public.clock SET micros = {micros}"));
    }

    fn lose(&self, name: &Name) {
        self.sql(&format!("DELETE FROM bulklink.circuit WHERE name = '{name}'"));
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }
}

/// A server with the tables, and rights for its user.
pub(crate) fn start() -> Result<Postgres, Missing> {
    let server = Postgres::builder().config("max_connections", "60").start()?;
    server.sql(&Part::Breaker.statements());
    server.sql(&Part::Breaker.grants("tests"));
    Ok(server)
}

/// A store with much time, because the machine is busy.
pub(crate) fn patient(url: &str) -> PostgresStoreBuilder {
    PostgresStore::builder(url).connect_timeout(PATIENCE)
}

/// The circuits on such a store.
pub(crate) fn circuits(url: &str) -> PostgresCircuits {
    patient(url).build().unwrap().circuits().answer_timeout(PATIENCE)
}

pub(crate) fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

pub(crate) fn name(label: &str) -> Name {
    Name::new(&Namespace::new("test").unwrap(), label).unwrap()
}

pub(crate) async fn load(store: &PostgresCircuits) -> Result<Row, StoreError> {
    store.load(&name("payments"), &Settings::consecutive(3)).await
}
