//! `SysTick`, the timer that is part of every Cortex-M.

use cortex_m::peripheral::SYST;
use cortex_m::peripheral::syst::SystClkSource;

/// Raises the exception `SysTick` at `frequency` Hz, on a processor that runs at `clock` Hz.
pub fn start(timer: &mut SYST, clock: u32, frequency: u32) {
    timer.set_clock_source(SystClkSource::Core);
    timer.set_reload(clock / frequency - 1);
    timer.clear_current();
    timer.enable_counter();
    timer.enable_interrupt();
}
