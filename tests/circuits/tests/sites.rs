//! Processes on a store in memory, on tokio with several threads and on smol.

use std::sync::Arc;

use bulklink_circuits::Site;
use bulklink_fleet::MemoryStore;
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

#[derive(Clone)]
struct OnSmol(MemoryStore);

macro_rules! site {
    ($site:ident $runtime:ident $block_on:expr) => {
        impl Site for $site {
            type Store = MemoryStore;
            type Runtime = $runtime;

            fn store(&self) -> MemoryStore {
                self.0.clone()
            }

            fn runtime(&self) -> $runtime {
                $runtime
            }

            fn block_on<F: Future>(&self, future: F) -> F::Output {
                $block_on(self, future)
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
    };
}

site!(OnTokio Tokio |site: &Self, future| site.1.block_on(future));
site!(OnSmol Smol |_, future| smol::block_on(future));

mod on_tokio {
    use super::OnTokio;

    bulklink_circuits::site_suite!(OnTokio::new());
}

mod on_smol {
    use super::*;

    bulklink_circuits::site_suite!(OnSmol(MemoryStore::new(Smol)));
}
