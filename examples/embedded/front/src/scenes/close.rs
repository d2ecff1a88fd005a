//! Close: before a power-off, the flash finishes the write that has begun, and no other write
//! begins.

use embassy_executor::{Spawner, task};
use embassy_time::Timer;
use log::info;

use crate::embassy::Bulkhead;

pub(super) async fn play(spawner: Spawner) {
    let flash = Bulkhead::builder("flash").parallelism(1).waiting_room(2).build().expect("a valid configuration");
    for page in 1..=3 {
        spawner.spawn(writer(page, flash.clone()).expect("a free task"));
        Timer::after_millis(1).await;
    }

    info!("main: closes");
    flash.close();
    spawner.spawn(writer(4, flash.clone()).expect("a free task"));
    flash.handle().closed().await;
    info!("main: nothing is being written any more");
    super::settle(&flash).await;
}

#[task(pool_size = 4)]
async fn writer(page: u32, flash: Bulkhead) {
    match flash.slot().await {
        Ok(_slot) => {
            info!("page {page}: writes");
            Timer::after_millis(10).await;
            info!("page {page}: written");
        }
        Err(rejection) => info!("page {page}: {rejection}"),
    }
}
