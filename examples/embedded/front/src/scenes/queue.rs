//! Queue: the flash writes one page at a time, two more wait in FIFO order, and a fourth is
//! rejected.

use embassy_executor::{Spawner, task};
use embassy_time::Timer;
use log::info;

use crate::embassy::Bulkhead;

pub(super) async fn play(spawner: Spawner) {
    let flash = Bulkhead::builder("flash").parallelism(1).waiting_room(2).build().expect("a valid configuration");
    for page in 1..=4 {
        spawner.spawn(writer(page, flash.clone()).expect("a free task"));
        Timer::after_millis(1).await;
    }
    super::settle(&flash).await;
}

#[task(pool_size = 4)]
async fn writer(page: u32, flash: Bulkhead) {
    match flash.execute(write(page)).await {
        Ok(bytes) => info!("page {page}: {bytes} bytes written"),
        Err(rejection) => info!("page {page}: {rejection}"),
    }
}

/// Writes a page. The future is polled first when there is a slot.
async fn write(page: u32) -> usize {
    info!("page {page}: writes");
    Timer::after_millis(10).await;
    256
}
