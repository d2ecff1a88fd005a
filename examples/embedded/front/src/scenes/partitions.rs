//! Partitions: each valve has its own slot. A third valve is rejected while two are in use; later
//! it takes the place of the valve that has been idle for longest.

use embassy_time::Timer;
use log::info;

use crate::embassy::Embassy;

/// With the default hasher, which does not need the standard library.
type Valves = bulklink::Partitions<u8, Embassy>;

pub(super) async fn play() {
    let builder = Valves::builder("valves").parallelism(1).max_partitions(2);
    let valves = builder.idle_timeout(core::time::Duration::from_millis(20)).build().expect("a valid configuration");
    let (first, second) =
        (valves.key(&1).try_slot().expect("a free slot"), valves.key(&2).try_slot().expect("a free slot"));
    for valve in [1, 3] {
        match valves.key(&valve).try_slot() {
            Ok(_slot) => info!("valve {valve}: opens"),
            Err(rejection) => info!("valve {valve}: {rejection}"),
        }
    }
    drop((first, second));
    drop(valves.key(&3).try_slot().expect("the place of valve 1"));
    info!("valve 3: opens; valve 1 is kept: {}", valves.partition(&1).is_some());
    Timer::after_millis(30).await;
    info!("main: {} idle partitions dropped", valves.handle().cleanup_idle());
    let totals = valves.status().totals;
    info!("counted: {} created, {} evicted", totals.created, totals.evicted);
}
