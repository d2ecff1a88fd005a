//! Bulklink under embassy on a Cortex-M3: scenes of tasks that contend for slots, one file each.

#![no_std]
#![no_main]

mod embassy;
mod logger;
mod scenes;
mod systick;
mod urgent;

use cortex_m::Peripherals;
use embassy_executor::Spawner;

/// The frequency of the processor after reset.
const CLOCK_HZ: u32 = 12_500_000;

/// The tick frequency of embassy-time.
#[expect(clippy::cast_possible_truncation, reason = "the tick frequency is far below that of the processor")]
const TICK_HZ: u32 = embassy_time::TICK_HZ as u32;

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    board::heap::init();
    let mut peripherals = Peripherals::take().expect("the peripherals are taken only here");
    board::systick::start(&mut peripherals.SYST, CLOCK_HZ, TICK_HZ);
    logger::start();
    scenes::play(spawner, urgent::start(&mut peripherals.NVIC)).await;
    board::finish();
}
