//! Wakers and handlers may panic wherever they run or are dropped. They run without a lock, because
//! they may call back.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// Runs foreign code and catches its panic, which the panic hook has reported.
pub(crate) fn contain(foreign: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(foreign)) {
        // To drop a second payload could panic again, without end.
        if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            mem::forget(second);
        }
    }
}

/// Drops a foreign value and catches its panic.
pub(crate) fn discard<T>(foreign: T) {
    contain(|| drop(foreign));
}

pub(crate) fn wake(waker: Waker) {
    contain(|| waker.wake());
}
