//! Partitions: more keys than partitions, more tasks than slots, a third of the tasks dropped
//! before their end.

use std::sync::Arc;
use std::time::Duration;

use bulklink::runtime::Runtime;
use bulklink::{Partitions, Reason, Rejection};

use crate::load::Running;
use crate::scene::{play, yield_now};
use crate::{Harness, accounts};

const KEYS: usize = 50;
const KEPT: usize = 20;
const PARALLELISM: usize = 3;

pub(crate) fn no_call_is_lost_nor_partition_created_twice_under_load<H: Harness>() {
    const TASKS: usize = 3_000;
    play::<H>(
        |limits| limits.parallelism(1),
        async |scene| {
            let builder = Partitions::<usize, _>::builder_on(H::runtime(), "hosts").parallelism(PARALLELISM);
            let builder = builder.waiting_room(TASKS).max_partitions(KEPT).idle_timeout(Duration::ZERO);
            let hosts = builder.build().expect("valid");
            let running: Arc<[Running]> = (0..KEYS).map(|_| Running::at_most(PARALLELISM)).collect();
            let tasks: Vec<_> =
                (0..TASKS).map(|task| scene.spawn(one_task(hosts.clone(), Arc::clone(&running), task))).collect();
            for (number, task) in tasks.into_iter().enumerate() {
                if number % 3 == 1 {
                    drop(task);
                } else if let Err(rejection) = task.await {
                    assert_eq!(rejection.reason(), Reason::PartitionLimit);
                }
            }
            scene.until(|_| hosts.status().leased_operations == 0).await;
            check_that_all_have_left(&hosts);
            hosts.close_and_wait().await;
            assert_eq!(hosts.status().partitions, 0);
        },
    );
}

/// Makes a call for its key, and cleans up or discards partitions now and then.
async fn one_task<R: Runtime>(
    hosts: Partitions<usize, R>,
    running: Arc<[Running]>,
    task: usize,
) -> Result<(), Rejection> {
    let key = task % KEYS;
    match task % 7 {
        0 => _ = hosts.handle().cleanup_idle(),
        1 => _ = hosts.discard(&key),
        _ => {}
    }
    let operation = async {
        let _running = running[key].enter();
        for _ in 0..task % 4 {
            yield_now().await;
        }
    };
    hosts.key(&key).execute(operation).await
}

fn check_that_all_have_left<R: Runtime>(hosts: &Partitions<usize, R>) {
    let status = hosts.status();
    let totals = status.totals;
    assert_eq!((status.active_partitions, status.leased_operations), (0, 0));
    assert_eq!(totals.created, totals.evicted + totals.discarded + status.partitions as u64);
    assert!(status.peak_partitions <= KEPT && totals.created > 0 && status.peak_leased_operations > 0);
    let kept: Vec<_> = (0..KEYS).filter_map(|key| hosts.partition(&key)).collect();
    assert_eq!(kept.len(), status.partitions);
    for handle in kept {
        accounts::are_settled(&handle.status());
    }
}
