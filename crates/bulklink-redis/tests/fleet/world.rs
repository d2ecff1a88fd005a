//! Servers and processes in these tests.

use std::time::Duration;

use bulklink_redis::{Fleet, RedisStore};
use bulklink_servers::Server;
pub(crate) use bulklink_stores::fleets::{LEASE, Load, Member, Pair, bulkhead, payments};
pub(crate) use bulklink_stores::{Platform, pass, within};

/// Far more than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Declares a test on tokio and one on smol for each async function.
macro_rules! on_both {
    ($($name:ident)+) => {
        mod on_tokio {$(
            #[test]
            fn $name() {
                crate::world::on_tokio(super::$name(bulklink_tokio::Tokio));
            }
        )+}

        mod on_smol {$(
            #[test]
            fn $name() {
                crate::world::on_smol(super::$name(bulklink_smol::Smol));
            }
        )+}
    };
}

pub(crate) use on_both;

pub(crate) fn on_tokio(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(within(PATIENCE, test));
}

pub(crate) fn on_smol(test: impl Future<Output = ()>) {
    smol::block_on(within(PATIENCE, test));
}

/// Returns a process.
pub(crate) fn process<R: Platform>(runtime: R, url: &str) -> Fleet<R> {
    bulklink_stores::fleets::process(runtime, RedisStore::new(url).expect("the address is valid"))
}

/// A process with a bulkhead and its share.
pub(crate) async fn member<R: Platform>(runtime: &R, server: &Server, limit: usize) -> Member<R> {
    Member::new(runtime, RedisStore::new(&server.url()).expect("the address is valid"), limit, LEASE).await
}

/// Two processes that share a limit.
pub(crate) async fn pair<R: Platform>(runtime: &R, server: &Server, limit: usize) -> Pair<R> {
    pair_lasting(runtime, server, limit, LEASE).await
}

/// The same, for leases of this time.
pub(crate) async fn pair_lasting<R: Platform>(runtime: &R, server: &Server, limit: usize, lease: Duration) -> Pair<R> {
    let stores = [(), ()].map(|()| RedisStore::new(&server.url()).expect("the address is valid"));
    Pair::lasting(runtime, stores, limit, lease).await
}
