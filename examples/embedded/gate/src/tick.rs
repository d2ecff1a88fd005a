//! The time in milliseconds, counted by the interrupt `SysTick`.

use core::sync::atomic::{AtomicU32, Ordering};

use cortex_m_rt::exception;

static MILLIS: AtomicU32 = AtomicU32::new(0);

/// Sleeps until the next millisecond, and returns it.
pub(crate) fn next() -> u32 {
    let before = MILLIS.load(Ordering::Relaxed);
    loop {
        cortex_m::asm::wfi();
        let now = MILLIS.load(Ordering::Relaxed);
        if now != before {
            return now;
        }
    }
}

/// There is no other writer, so load and store need not be one atomic step.
#[exception]
fn SysTick() {
    MILLIS.store(MILLIS.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}
