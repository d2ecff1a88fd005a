//! The timer that a Cortex-M has of its own.

use cortex_m::peripheral::SYST;
use cortex_m::peripheral::syst::SystClkSource;

/// Has the exception `SysTick` raised at a frequency, where the processor runs at `clock` Hz.
pub fn start(timer: &mut SYST, clock: u32, frequency: u32) {
    timer.set_clock_source(SystClkSource::Core);
    timer.set_reload(clock / frequency - 1);
    timer.clear_current();
    timer.enable_counter();
    timer.enable_interrupt();
}
