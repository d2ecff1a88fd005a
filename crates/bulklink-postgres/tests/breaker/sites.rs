//! Processes on a real server behind a line, on tokio with several threads.

use std::sync::Arc;

use bulklink_circuits::{FOREVER, Site};
use bulklink_postgres::PostgresStore;
use bulklink_postgres::breaker::PostgresCircuits;
use bulklink_servers::{Missing, Postgres, Proxy, require};
use bulklink_tokio::Tokio;
use tokio::runtime::Runtime;

use crate::world::{runtime, start};

#[derive(Clone)]
struct Line {
    proxy: Arc<Proxy>,
    server: Arc<Postgres>,
    runtime: Arc<Runtime>,
}

impl Line {
    fn start() -> Result<Self, Missing> {
        let server = start()?;
        let proxy = Arc::new(Proxy::to(server.socket()));
        Ok(Line { proxy, server: Arc::new(server), runtime: Arc::new(runtime()) })
    }
}

impl Site for Line {
    type Store = PostgresCircuits;
    type Runtime = Tokio;

    fn store(&self) -> PostgresCircuits {
        let store = PostgresStore::builder(&self.server.url_through(&self.proxy)).connect_timeout(FOREVER);
        store.build().unwrap().circuits().answer_timeout(FOREVER)
    }

    fn runtime(&self) -> Tokio {
        Tokio
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    fn silence(&self) {
        self.proxy.black_hole();
    }

    fn heal(&self) {
        self.proxy.heal();
    }

    fn cut(&self) {
        self.proxy.cut();
    }
}

bulklink_circuits::site_suite!(require!(Line::start()));
