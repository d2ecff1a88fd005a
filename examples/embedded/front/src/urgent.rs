//! A second executor. Its tasks run at the priority of an interrupt and preempt all others.

use cortex_m::peripheral::NVIC;
use embassy_executor::{InterruptExecutor, SendSpawner};
use lm3s6965::{Interrupt, interrupt};

/// The interrupt of an unused peripheral, which the executor runs in.
const INTERRUPT: Interrupt = Interrupt::UART2;

static EXECUTOR: InterruptExecutor = InterruptExecutor::new();

/// Starts the executor. A task that is spawned there begins to run immediately.
pub(crate) fn start(nvic: &mut NVIC) -> SendSpawner {
    // SAFETY: the interrupt is not enabled yet, so no critical section relies on its priority.
    unsafe { nvic.set_priority(INTERRUPT, 1 << 5) };
    EXECUTOR.start(INTERRUPT)
}

#[interrupt]
fn UART2() {
    // SAFETY: called from this interrupt alone, which `start` enables.
    unsafe { EXECUTOR.on_interrupt() }
}
