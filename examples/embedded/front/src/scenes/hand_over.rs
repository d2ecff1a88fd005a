//! Hand over: a released slot belongs to the first waiter, even before that task has run again.

use embassy_executor::{Spawner, task};
use embassy_time::Timer;
use log::info;

use crate::embassy::Bulkhead;

pub(super) async fn play(spawner: Spawner) {
    let radio = Bulkhead::builder("radio").parallelism(1).waiting_room(1).build().expect("a valid configuration");
    let slot = radio.owned().try_slot().expect("no other task has begun");
    spawner.spawn(waiter(radio.clone()).expect("a free task"));
    Timer::after_millis(5).await;

    info!("main: gives the slot back");
    drop(slot);
    match radio.try_slot() {
        Ok(_slot) => info!("main: has overtaken the waiter"),
        Err(rejection) => info!("main: {rejection}"),
    }
    super::settle(&radio).await;
}

#[task]
async fn waiter(radio: Bulkhead) {
    info!("waiter: waits");
    let Ok(_slot) = radio.slot().await else { return };
    info!("waiter: has the slot");
}
