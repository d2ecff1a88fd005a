//! Foreign code, kept from doing harm: wakers and handlers can panic wherever they run or are dropped.

use alloc::boxed::Box;
use core::any::Any;

/// Runs foreign code so that its panic stops nothing else. Returns whether it ended well. The panic hook has reported it.
pub(crate) fn contain(foreign: impl FnOnce()) -> bool {
    let Err(payload) = catch(foreign) else { return true };
    // What it panicked with is foreign too; a panic of that one's drop is kept rather than dropped.
    let _ = catch(|| drop(payload)).map_err(core::mem::forget);
    false
}

/// Runs foreign code, and returns what it panicked with. The panic hook has reported it.
#[cfg(feature = "std")]
pub(crate) fn catch<T>(foreign: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(foreign))
}

/// Without std a panic does not unwind to here.
#[cfg(not(feature = "std"))]
#[expect(clippy::unnecessary_wraps, reason = "with std it can fail")]
pub(crate) fn catch<T>(foreign: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    Ok(foreign())
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
