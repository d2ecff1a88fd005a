//! Critical sections of a program with one thread and no interrupts: there is nobody to keep out. They are counted, so that
//! checks can say what must not run inside one.

use core::sync::atomic::{AtomicUsize, Ordering};

use critical_section::RawRestoreState;

static DEPTH: AtomicUsize = AtomicUsize::new(0);

critical_section::set_impl!(Counted);

struct Counted;

/// Whether the program is inside a critical section.
pub(crate) fn is_entered() -> bool {
    DEPTH.load(Ordering::Relaxed) > 0
}

// SAFETY: nothing runs beside this program's only thread, which installs no signal handler, so every section is exclusive.
unsafe impl critical_section::Impl for Counted {
    // SAFETY: there is nothing that a caller could get wrong.
    unsafe fn acquire() -> RawRestoreState {
        DEPTH.fetch_add(1, Ordering::Relaxed);
    }

    // SAFETY: by the trait's contract it ends a section that was entered, so the count is above zero.
    unsafe fn release(_state: RawRestoreState) {
        DEPTH.fetch_sub(1, Ordering::Relaxed);
    }
}
