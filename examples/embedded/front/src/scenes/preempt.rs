//! Preempt: a task at the priority of an interrupt shares a bulkhead with tasks below it, and runs
//! before the task that woke it goes on.

use embassy_executor::{SendSpawner, task};
use log::info;

use crate::embassy::Bulkhead;

pub(super) async fn play(urgent: SendSpawner) {
    let motor = Bulkhead::builder("motor").parallelism(1).waiting_room(1).build().expect("a valid configuration");
    let slot = motor.try_slot().expect("no other task has begun");
    urgent.spawn(brake(motor.clone()).expect("a free task"));
    info!("main: drives, and gives the slot back");
    drop(slot);
    info!("main: goes on");
    super::settle(&motor).await;
}

#[task]
async fn brake(motor: Bulkhead) {
    info!("brake: waits");
    let Ok(_slot) = motor.slot().await else { return };
    info!("brake: preempts main, and brakes");
}
