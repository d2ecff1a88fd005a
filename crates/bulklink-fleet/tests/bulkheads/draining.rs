//! The end of a service with shares, in virtual time.

use std::time::Duration;

use bulklink_fleet::{Fleet, MemoryStore};
use bulklink_tokio::{Bulkhead, Drain, Registry, Tokio};
use tokio::time::{Instant, sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);

/// A registry, its shared bulkhead, the fleet, and another process that may use one unit at a time.
async fn service() -> (Registry, Bulkhead, Fleet<Tokio>, Bulkhead) {
    let store = MemoryStore::new(Tokio);
    let mut processes = Vec::new();
    for _ in 0..2 {
        let registry = Registry::new();
        let export = Bulkhead::builder("export").parallelism(8).waiting_room(8);
        let export = registry.create(export).expect("valid");
        let fleet = Fleet::builder(store.clone(), Tokio).namespace("test").build().expect("valid");
        fleet.share(&export).limit(1).connect().await.expect("the store answers");
        processes.push((registry, export, fleet));
    }
    let (_, theirs, _) = processes.pop().expect("two");
    let (registry, export, fleet) = processes.pop().expect("two");
    (registry, export, fleet, theirs)
}

#[tokio::test(start_paused = true)]
async fn a_fleet_is_left_by_a_drain_and_its_units_are_free_at_once() {
    let (registry, export, fleet, theirs) = service().await;
    let running = export.owned().slot().await.expect("free");
    tokio::spawn(async move {
        sleep(3 * SECOND).await;
        drop(running);
    });
    let begin = Instant::now();
    let drain = Drain::new(&registry).when(async {}).also(move || fleet.close());
    drain.run().await.expect("no signals").complete().expect("all has ended");
    assert!((3 * SECOND..4 * SECOND).contains(&begin.elapsed()), "{:?}", begin.elapsed());
    let _theirs = timeout(SECOND, theirs.slot()).await.expect("the unit is free, and not leased").expect("open");
}

#[tokio::test(start_paused = true)]
async fn an_operation_beyond_the_limit_of_a_drain_does_not_keep_the_fleet() {
    let (registry, export, fleet, _) = service().await;
    let running = export.owned().slot().await.expect("free");
    tokio::spawn(async move {
        sleep(27 * SECOND).await;
        drop(running);
    });
    let begin = Instant::now();
    let drain = Drain::new(&registry).when(async {}).limit(SECOND).expect("longer than zero");
    let drained = drain.also(move || fleet.close()).run().await.expect("no signals");
    assert_eq!((begin.elapsed(), drained.to_string()), (SECOND, "not drained, export: 1 running".into()));
}
