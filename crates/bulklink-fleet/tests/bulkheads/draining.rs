//! The end of a service with shares, in virtual time.

use std::time::Duration;

use bulklink_fleet::{Fleet, FleetShare, MemoryStore};
use bulklink_tokio::{Bulkhead, Drain, Registry, Tokio};
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);

/// A registry, its shared bulkhead, the fleet and the share.
type Process = (Registry, Bulkhead, Fleet<Tokio>, FleetShare<Tokio>);

async fn process(store: &MemoryStore) -> Process {
    let registry = Registry::new();
    let export = Bulkhead::builder("export").parallelism(8).waiting_room(8);
    let export = registry.create(export).expect("valid");
    let fleet = Fleet::builder(store.clone(), Tokio).namespace("test").build().expect("valid");
    let share = fleet.share(&export).limit(1).connect().await.expect("the store answers");
    (registry, export, fleet, share)
}

#[tokio::test(start_paused = true)]
async fn a_fleet_is_left_by_a_drain_once_its_operations_have_ended() {
    let store = MemoryStore::new(Tokio);
    let (registry, export, fleet, _) = process(&store).await;
    let other = process(&store).await;
    let running = export.owned().slot().await.expect("free");
    tokio::spawn(async move {
        sleep(3 * SECOND).await;
        drop(running);
    });
    let begin = Instant::now();
    let drain = Drain::new(&registry).when(async {}).also(move || fleet.close());
    drain.run().await.expect("no signals").complete().expect("all has ended");
    assert!((3 * SECOND..4 * SECOND).contains(&begin.elapsed()), "{:?}", begin.elapsed());
    let look = other.3.look().await.expect("the store answers").expect("declared");
    assert_eq!((look.granted, look.rows), (0, Vec::new()), "the store knows");
}

#[tokio::test(start_paused = true)]
async fn an_operation_beyond_the_limit_of_a_drain_does_not_keep_the_fleet() {
    let (registry, export, fleet, _) = process(&MemoryStore::new(Tokio)).await;
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
