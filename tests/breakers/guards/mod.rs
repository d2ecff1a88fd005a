//! The promises of guards by key: a circuit for each, how long it lives, and what is foreign.

mod calls;
mod foreign;
mod lifetime;
mod registry;
mod threads;

use std::hash::Hash;

use bulklink::runtime::Runtime;
use bulklink::testing::{Executor, FakeRuntime};
use bulklink::{Partitions, partitions};
use bulklink_breaker::{ErrorsFail, GuardError, Guards, GuardsBuilder, KeysStatus, Settings};

use super::{executor, ms};

type TestGuards<K = u32> = Guards<K, FakeRuntime>;
type Builder<K, R> = GuardsBuilder<K, R, ErrorsFail, partitions::RandomState>;
type Outcome = Result<(), GuardError<&'static str>>;

/// Partitions of which each has two slots and a place to wait.
fn partitions<K: Send + 'static, R: Runtime>(runtime: R, max: usize) -> Partitions<K, R> {
    let builder = Partitions::builder_on(runtime, "hosts").parallelism(2).waiting_room(1);
    builder.max_partitions(max).build().expect("valid limits")
}

/// Guards with circuits that open at the second failure in a row, for 10 ms.
fn builder<K: Send + 'static, R: Runtime>(runtime: R, max_keys: usize) -> Builder<K, R> {
    let settings = Settings::consecutive(2).cool_down(ms(10));
    Guards::builder(&partitions(runtime, 100)).settings(settings).max_keys(max_keys)
}

fn guards(executor: &Executor, max_keys: usize) -> TestGuards {
    builder(executor.runtime(), max_keys).build().expect("valid settings")
}

fn call<K: Hash + Eq + Clone + Send + Sync + 'static>(
    guards: &TestGuards<K>,
    key: &K,
    result: Result<(), &'static str>,
) -> Outcome {
    guards.key(key).blocking_execute(|| result)
}

/// Opens the circuit of a key.
fn trip(guards: &TestGuards, key: u32) {
    for _ in 0..2 {
        assert!(matches!(call(guards, &key, Err("down")), Err(GuardError::Operation("down"))));
    }
}

fn is_open(guards: &TestGuards, key: u32) -> bool {
    matches!(call(guards, &key, Ok(())), Err(GuardError::Open(_)))
}

fn keys<K: Send + Sync, R: Runtime>(guards: &Guards<K, R>) -> KeysStatus {
    guards.status().keys.expect("of guards by key")
}
