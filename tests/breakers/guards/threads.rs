//! Guards by key on threads.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use bulklink_breaker::{GuardError, Guards, Settings};

use super::keys;

const THREADS: u64 = 4;
const CALLS: u64 = 3_000;

fn guards(max_keys: usize) -> Guards<u64, bulklink_tokio::Tokio> {
    let partitions = bulklink_tokio::Partitions::builder("hosts").parallelism(100).max_partitions(1_000);
    let settings = Settings::consecutive(3).cool_down(super::ms(1));
    let builder = Guards::builder(&partitions.build().expect("valid limits")).settings(settings);
    builder.max_keys(max_keys).build().expect("valid settings")
}

/// Each call is counted by one circuit, also if that is evicted, unless it had none of its key.
#[test]
fn everything_adds_up_while_circuits_are_evicted() {
    let guards = guards(8);
    let ended = AtomicU64::new(0);
    thread::scope(|scope| {
        for seed in 0..THREADS {
            let (guards, ended) = (&guards, &ended);
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(seed);
                for _ in 0..CALLS {
                    let fails = random.u8(..4) == 0;
                    let called =
                        guards.key(&random.u64(..40)).blocking_execute(|| if fails { Err(()) } else { Ok(()) });
                    if !matches!(called, Err(GuardError::Open(_))) {
                        ended.fetch_add(1, Relaxed);
                    }
                }
            });
        }
    });
    let (totals, status) = (guards.status().totals, keys(&guards));
    let counted = totals.ended() + status.without_circuit;
    assert_eq!(counted, ended.load(Relaxed));
    assert_eq!(counted + totals.rejected, THREADS * CALLS);
    assert!(status.kept == 8 && status.evicted > 0, "{status:?}");
}

#[test]
fn a_key_gets_one_circuit_however_many_threads_ask_at_once() {
    let guards = guards(1_000);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for key in 0..500 {
                    guards.key(&key).blocking_execute(|| Ok::<_, ()>(())).expect("a closed circuit");
                }
            });
        }
    });
    let status = keys(&guards);
    assert_eq!((status.kept, status.evicted, guards.status().totals.successes), (500, 0, THREADS * 500));
}
