//! Foreign code, kept from doing harm: wakers and handlers can panic wherever they run or are dropped.

/// Runs foreign code so that its panic stops nothing else. Returns whether it ended well. The panic hook has reported it.
#[cfg(feature = "std")]
pub(crate) fn contain(foreign: impl FnOnce()) -> bool {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    let Err(payload) = catch_unwind(AssertUnwindSafe(foreign)) else { return true };
    // What it panicked with is foreign too; a panic of that one's drop is kept rather than dropped.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(payload))).map_err(core::mem::forget);
    false
}

/// Without std a panic does not unwind to here.
#[cfg(not(feature = "std"))]
pub(crate) fn contain(foreign: impl FnOnce()) -> bool {
    foreign();
    true
}

/// What foreign code comes to, if it does not panic.
pub(crate) fn attempt<T>(foreign: impl FnOnce() -> T) -> Option<T> {
    let mut answer = None;
    contain(|| answer = Some(foreign()));
    answer
}

/// Drops what is foreign while something is held that must not get lost.
pub(crate) fn discard<T>(foreign: T) {
    contain(|| drop(foreign));
}
