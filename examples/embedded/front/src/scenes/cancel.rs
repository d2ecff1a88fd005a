//! Cancel: dropping its future cancels a wait. It loses its place in the queue, and never a slot.

use embassy_executor::{Spawner, task};
use embassy_futures::select::{Either, select};
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::signal::Signal;
use embassy_time::Timer;
use log::info;

use crate::embassy::Bulkhead;

/// Signalled when the user has lost interest.
static STOP: Signal<CriticalSectionRawMutex, ()> = Signal::new();

pub(super) async fn play(spawner: Spawner) {
    let display = Bulkhead::builder("display").parallelism(1).waiting_room(2).build().expect("a valid configuration");
    while_it_waits(&display, spawner).await;
    after_it_was_granted_a_slot(&display, spawner).await;
    super::settle(&display).await;
}

/// The waiter is cancelled in the queue, and the one behind moves up.
async fn while_it_waits(display: &Bulkhead, spawner: Spawner) {
    let slot = display.try_slot().expect("no other task has begun");
    contend(display, spawner).await;
    STOP.signal(());
    Timer::after_millis(1).await;
    info!("main: {} waiting", display.status().waiting);
    drop(slot);
    Timer::after_millis(1).await;
}

/// The waiter is cancelled after it was granted the slot, which goes to the one behind.
async fn after_it_was_granted_a_slot(display: &Bulkhead, spawner: Spawner) {
    let slot = display.try_slot().expect("all tasks have ended");
    contend(display, spawner).await;
    drop(slot);
    STOP.signal(());
    Timer::after_millis(1).await;
    info!("main: {} abandoned", display.status().totals.abandoned);
}

async fn contend(display: &Bulkhead, spawner: Spawner) {
    spawner.spawn(animation(display.clone()).expect("a free task"));
    Timer::after_millis(1).await;
    spawner.spawn(clock_face(display.clone()).expect("a free task"));
    Timer::after_millis(1).await;
    info!("main: {} waiting", display.status().waiting);
}

#[task]
async fn animation(display: Bulkhead) {
    match select(STOP.wait(), display.slot()).await {
        Either::First(()) => info!("animation: stopped"),
        Either::Second(_) => info!("animation: draws"),
    }
}

#[task]
async fn clock_face(display: Bulkhead) {
    let Ok(_slot) = display.slot().await else { return };
    info!("clock face: draws");
}
