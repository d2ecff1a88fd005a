//! Processes on a real server behind a line, on tokio with several threads: on a session of the
//! store, and on those of a pool.

use std::sync::Arc;

use bulklink_circuits::{FOREVER, Site};
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
    is_pooled: bool,
}

impl Line {
    fn start(is_pooled: bool) -> Result<Self, Missing> {
        let server = start()?;
        let proxy = Arc::new(Proxy::to(server.socket()));
        Ok(Line { proxy, server: Arc::new(server), runtime: Arc::new(runtime()), is_pooled })
    }
}

impl Site for Line {
    type Store = PostgresCircuits;
    type Runtime = Tokio;

    fn store(&self) -> PostgresCircuits {
        let url = self.server.url_through(&self.proxy);
        let mut store = PostgresCircuits::builder(&url).connect_timeout(FOREVER).answer_timeout(FOREVER);
        if self.is_pooled {
            let manager = deadpool_postgres::Manager::new(url.parse().unwrap(), tokio_postgres::NoTls);
            store = store.pool(deadpool_postgres::Pool::builder(manager).max_size(2).build().unwrap());
        }
        store.build().unwrap()
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

bulklink_circuits::site_suite!(require!(Line::start(false)));

mod pooled {
    use super::*;

    bulklink_circuits::site_suite!(require!(Line::start(true)));
}
