//! Expire: a wait for the radio ends at the radio's limit, at the call's own limit or at its
//! deadline, whichever is first.

use core::time::Duration;

use embassy_executor::{Spawner, task};
use embassy_time::{Instant, Timer};
use log::info;

use crate::embassy::{Bulkhead, Request};

pub(super) async fn play(spawner: Spawner) {
    let limit = Duration::from_millis(15);
    let radio = Bulkhead::builder("radio").parallelism(1).waiting_room(4).wait_limit(limit).build();
    let radio = radio.expect("a valid configuration");
    let slot = radio.try_slot().expect("no other task has begun");

    let at = |millis| Instant::now() + embassy_time::Duration::from_millis(millis);
    for (name, request) in [
        ("patient", Request::new()),
        ("boundless", Request::new().before(Instant::MAX)),
        ("hasty", Request::new().within(Duration::from_micros(2_500))),
        ("punctual", Request::new().before(at(10))),
    ] {
        spawner.spawn(sender(name, request, radio.clone()).expect("a free task"));
        Timer::after_millis(1).await;
    }
    Timer::after_millis(20).await;
    drop(slot);
    super::settle(&radio).await;
}

#[task(pool_size = 4)]
async fn sender(name: &'static str, request: Request, radio: Bulkhead) {
    match radio.with(request).slot().await {
        Ok(_slot) => info!("{name}: sends"),
        Err(rejection) => info!("{name}: {rejection}"),
    }
}
