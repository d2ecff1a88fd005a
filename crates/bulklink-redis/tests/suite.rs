//! The suite of all stores, on real servers, on tokio and on smol.

#![cfg(unix)]

use std::path::PathBuf;
use std::time::Duration;

use bulklink_redis::RedisStore;
use bulklink_servers::{Data, Proxy, Server, require};
use bulklink_stores::{PATIENCE, Site, within};

struct Redis(Server);

impl Site for Redis {
    type Store = RedisStore;

    const RESTART: Duration = Duration::from_secs(4);

    fn store(&self) -> RedisStore {
        RedisStore::new(&self.0.url()).expect("the URL is valid")
    }

    fn through(&self, proxy: &Proxy) -> RedisStore {
        RedisStore::new(&proxy.url()).expect("the URL is valid")
    }

    fn socket(&self) -> PathBuf {
        self.0.socket()
    }

    fn end_sessions(&self) {
        self.0.call(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    }

    fn sessions(&self) -> String {
        self.0.call(&["CLIENT", "LIST"]).text()
    }

    fn restart(&mut self, data: Data) {
        self.0.restart(data);
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

fn on_tokio(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(within(PATIENCE * 6, test));
}

fn on_smol(test: impl Future<Output = ()>) {
    smol::block_on(within(PATIENCE * 6, test));
}

macro_rules! on {
    ($module:ident $block_on:ident $runtime:expr) => {
        mod $module {
            use super::*;

            macro_rules! link_test {
                ($test:path) => {
                    $block_on($test(Redis(require!(Server::start()))))
                };
            }

            macro_rules! fleet_test {
                ($test:path) => {
                    $block_on($test(Redis(require!(Server::start())), $runtime))
                };
            }

            mod links {
                use super::*;

                bulklink_stores::link_tests!(link_test);
            }

            mod fleets {
                use super::*;

                bulklink_stores::fleet_tests!(fleet_test);
            }
        }
    };
}

on!(tokio_suite on_tokio bulklink_tokio::Tokio);
on!(smol_suite on_smol bulklink_smol::Smol);
