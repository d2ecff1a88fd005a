//! The core of Bulklink alone on a Cortex-M0: no async, no atomics except load and store, one loop
//! in which four jobs share a slot.

#![no_std]
#![no_main]

mod job;
mod script;
mod superloop;
mod tick;

use core::time::Duration;

use bulklink_core::{InvalidArgument, Limits};
use cortex_m::Peripherals;
use cortex_m_rt::entry;

use crate::superloop::Superloop;

/// The frequency of an nRF51.
const CLOCK_HZ: u32 = 16_000_000;

#[entry]
fn main() -> ! {
    board::heap::init();
    let mut peripherals = Peripherals::take().expect("the peripherals are taken only here");
    board::systick::start(&mut peripherals.SYST, CLOCK_HZ, 1000);
    if let Err(invalid) = run() {
        panic!("{invalid}");
    }
    board::finish();
}

/// Runs one turn per millisecond, until the gate is closed and drained.
fn run() -> Result<(), InvalidArgument> {
    let limits = Limits::new(1).with_waiting_room(2).with_wait_limit(Some(Duration::from_millis(20)));
    let mut superloop = Superloop::new(limits)?;
    while !superloop.is_drained() {
        let now = tick::next();
        for input in script::at(now) {
            superloop.take(input, now)?;
        }
        superloop.turn(now);
    }
    superloop.tell(tick::next());
    board::say!("heap: at most {} of {} KiB in use", board::heap::peak().div_ceil(1024), board::heap::SIZE / 1024);
    Ok(())
}
