//! The time driver of embassy-time, on the timer that every Cortex-M3 has. For a real chip, its
//! embassy crate has one.

use core::cell::{Cell, RefCell};
use core::task::Waker;

use cortex_m_rt::exception;
use critical_section::Mutex;
use embassy_time_driver::{Driver, time_driver_impl};
use embassy_time_queue_utils::Queue;

struct SysTickDriver {
    ticks: Mutex<Cell<u64>>,
    sleepers: Mutex<RefCell<Queue>>,
}

time_driver_impl!(static DRIVER: SysTickDriver = SysTickDriver {
    ticks: Mutex::new(Cell::new(0)),
    sleepers: Mutex::new(RefCell::new(Queue::new())),
});

impl Driver for SysTickDriver {
    fn now(&self) -> u64 {
        critical_section::with(|section| self.ticks.borrow(section).get())
    }

    /// Registers the waker. The next tick wakes all tasks that are due.
    fn schedule_wake(&self, at: u64, waker: &Waker) {
        critical_section::with(|section| self.sleepers.borrow_ref_mut(section).schedule_wake(at, waker));
    }
}

#[exception]
fn SysTick() {
    critical_section::with(|section| {
        let now = DRIVER.ticks.borrow(section).get() + 1;
        DRIVER.ticks.borrow(section).set(now);
        DRIVER.sleepers.borrow_ref_mut(section).next_expiration(now);
    });
}
