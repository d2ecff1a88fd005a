//! Processes on a real server behind a line, on tokio with several threads and on smol.

use std::sync::Arc;

use bulklink_circuits::{FOREVER, Site};
use bulklink_redis::RedisStore;
use bulklink_redis::breaker::RedisCircuits;
use bulklink_servers::{Missing, Proxy, Server, require};
use bulklink_smol::Smol;
use bulklink_tokio::Tokio;
use tokio::runtime::Runtime;

use crate::world::runtime;

#[derive(Clone)]
struct Line {
    proxy: Arc<Proxy>,
    _server: Arc<Server>,
}

impl Line {
    fn start() -> Result<Self, Missing> {
        let server = Server::start()?;
        Ok(Line { proxy: Arc::new(Proxy::start(&server)), _server: Arc::new(server) })
    }

    fn store(&self) -> RedisCircuits {
        let store = RedisStore::builder(&self.proxy.url()).connect_timeout(FOREVER).build().unwrap();
        store.circuits().answer_timeout(FOREVER)
    }
}

#[derive(Clone)]
struct OnTokio(Line, Arc<Runtime>);

#[derive(Clone)]
struct OnSmol(Line);

macro_rules! site {
    ($site:ident $runtime:ident $block_on:expr) => {
        impl Site for $site {
            type Store = RedisCircuits;
            type Runtime = $runtime;

            fn store(&self) -> RedisCircuits {
                self.0.store()
            }

            fn runtime(&self) -> $runtime {
                $runtime
            }

            fn block_on<F: Future>(&self, future: F) -> F::Output {
                $block_on(self, future)
            }

            fn silence(&self) {
                self.0.proxy.black_hole();
            }

            fn heal(&self) {
                self.0.proxy.heal();
            }

            fn cut(&self) {
                self.0.proxy.cut();
            }
        }
    };
}

site!(OnTokio Tokio |site: &Self, future| site.1.block_on(future));
site!(OnSmol Smol |_, future| smol::block_on(future));

mod on_tokio {
    use super::*;

    bulklink_circuits::site_suite!(OnTokio(require!(Line::start()), Arc::new(runtime())));
}

mod on_smol {
    use super::*;

    bulklink_circuits::site_suite!(OnSmol(require!(Line::start())));
}
