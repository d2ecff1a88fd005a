//! Servers with the tables, and processes on them.

use std::path::PathBuf;
use std::time::Duration;

use bulklink_postgres::{Part, PostgresLink, PostgresStore};
use bulklink_servers::{Data, Missing, Postgres, Proxy};
use bulklink_stores::{PATIENCE, Site, within};

pub(crate) type Process = bulklink_stores::Process<PostgresLink>;

pub(crate) fn on_tokio(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(within(PATIENCE * 6, test));
}

/// A store with much time, because the machine is busy.
pub(crate) fn store(url: &str) -> PostgresStore {
    let patient = PostgresStore::builder(url).connect_timeout(PATIENCE).lock_timeout(Duration::from_secs(2));
    patient.build().expect("the URL is valid")
}

/// A server that has the tables.
pub(crate) struct Postgresql(pub(crate) Postgres);

impl Postgresql {
    pub(crate) async fn start() -> Result<Self, Missing> {
        Postgres::start().map(Self)?.set_up().await
    }

    pub(crate) async fn set_up(self) -> Result<Self, Missing> {
        store(&self.0.url()).set_up(&[Part::Fleet], &[]).await.expect("the user owns the database");
        Ok(self)
    }
}

impl Site for Postgresql {
    type Store = PostgresStore;

    const RESTART: Duration = Duration::from_secs(4);

    fn store(&self) -> PostgresStore {
        store(&self.0.url())
    }

    fn through(&self, proxy: &Proxy) -> PostgresStore {
        store(&self.0.url_through(proxy))
    }

    fn socket(&self) -> PathBuf {
        self.0.socket()
    }

    fn end_sessions(&self) {
        self.0.terminate_sessions();
    }

    fn sessions(&self) -> String {
        self.0.sql("SELECT application_name FROM pg_stat_activity").concat().join(" ")
    }

    fn restart(&mut self, data: Data) {
        self.0.restart(data);
        if data == Data::Empty {
            // The tables of a server without data: an administrator would make them again.
            let server = &self.0;
            server.sql(&Part::Fleet.statements());
            server.sql(&Part::Fleet.grants("tests"));
        }
    }

    fn kill(&mut self) {
        self.0.kill();
    }

    fn stop_process(&mut self) {
        self.0.stop_process();
    }

    fn continue_process(&mut self) {
        self.0.continue_process();
    }
}
