//! Processes of the tests, and their runtimes.

use bulklink_redis::{RedisLink, RedisStore};
pub(crate) use bulklink_stores::{PATIENCE, Told, name, within};

pub(crate) type Process = bulklink_stores::Process<RedisLink>;

/// Connects a process, or panics.
pub(crate) async fn at(url: &str, number: u128) -> Process {
    Process::on(&RedisStore::new(url).unwrap(), number).await
}

/// Declares a test on tokio and one on smol for each async function.
macro_rules! on_both {
    ($($name:ident)+) => {
        mod on_tokio {$(
            #[test]
            fn $name() {
                crate::world::on_tokio(super::$name());
            }
        )+}

        mod on_smol {$(
            #[test]
            fn $name() {
                crate::world::on_smol(super::$name());
            }
        )+}
    };
}

pub(crate) use on_both;

pub(crate) fn on_tokio(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(within(PATIENCE * 6, test));
}

pub(crate) fn on_smol(test: impl Future<Output = ()>) {
    smol::block_on(within(PATIENCE * 6, test));
}
