//! Processes on a store in memory, on tokio with several threads and on smol.

use std::sync::Arc;

use bulklink_breaker::store::MemoryStore;
use bulklink_circuits::Site;
use bulklink_smol::Smol;
use bulklink_tokio::Tokio;
use tokio::runtime::{Builder, Runtime};

#[derive(Clone)]
struct OnTokio(MemoryStore, Arc<Runtime>);

impl OnTokio {
    fn new() -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
        OnTokio(MemoryStore::new(Tokio), Arc::new(runtime))
    }
}

impl Site for OnTokio {
    type Store = MemoryStore;
    type Runtime = Tokio;

    fn store(&self) -> MemoryStore {
        self.0.clone()
    }

    fn runtime(&self) -> Tokio {
        Tokio
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.1.block_on(future)
    }

    fn silence(&self) {
        self.0.stall(true);
    }

    fn heal(&self) {
        self.0.stall(false);
    }

    fn cut(&self) {
        self.0.cut();
    }
}

#[derive(Clone)]
struct OnSmol(MemoryStore);

impl Site for OnSmol {
    type Store = MemoryStore;
    type Runtime = Smol;

    fn store(&self) -> MemoryStore {
        self.0.clone()
    }

    fn runtime(&self) -> Smol {
        Smol
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        smol::block_on(future)
    }

    fn silence(&self) {
        self.0.stall(true);
    }

    fn heal(&self) {
        self.0.stall(false);
    }

    fn cut(&self) {
        self.0.cut();
    }
}

mod on_tokio {
    use super::OnTokio;

    bulklink_circuits::site_suite!(OnTokio::new());
}

mod on_smol {
    use super::*;

    bulklink_circuits::site_suite!(OnSmol(MemoryStore::new(Smol)));
}
