//! Admit: two transfers may use the bus at the same time, and a third is rejected immediately.

use embassy_executor::{Spawner, task};
use embassy_time::Timer;
use log::info;

use crate::embassy::Bulkhead;

pub(super) async fn play(spawner: Spawner) {
    let bus = Bulkhead::builder("bus").parallelism(2).build().expect("a valid configuration");
    for name in ["thermometer", "gyroscope", "barometer"] {
        spawner.spawn(sensor(name, bus.clone()).expect("a free task"));
        Timer::after_millis(1).await;
    }
    super::settle(&bus).await;
}

#[task(pool_size = 3)]
async fn sensor(name: &'static str, bus: Bulkhead) {
    match bus.try_slot() {
        Ok(_slot) => {
            info!("{name}: reads");
            Timer::after_millis(10).await;
            info!("{name}: has read");
        }
        Err(rejection) => info!("{name}: {rejection}"),
    }
}
