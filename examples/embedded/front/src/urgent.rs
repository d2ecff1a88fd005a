//! A second executor, whose tasks run at the priority of an interrupt and preempt all others.

use cortex_m::peripheral::NVIC;
use embassy_executor::{InterruptExecutor, SendSpawner};
use lm3s6965::{Interrupt, interrupt};

/// It borrows the interrupt of a peripheral that nobody uses.
const INTERRUPT: Interrupt = Interrupt::UART2;

static EXECUTOR: InterruptExecutor = InterruptExecutor::new();

/// Starts it. What is spawned there begins to run at once.
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
