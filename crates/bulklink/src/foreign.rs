//! Foreign code, kept from doing harm: wakers and handlers can panic wherever they run or are dropped.

use alloc::boxed::Box;
use core::any::Any;

/// Runs foreign code so that its panic stops nothing else. Returns whether it ended well. The panic hook has reported it.
#[inline]
pub(crate) fn contain(foreign: impl FnOnce()) -> bool {
    match catch(foreign) {
        Ok(()) => true,
        Err(payload) => {
            drop_payload(payload);
            false
        }
    }
}

/// What code panicked with is foreign too; if its drop panics, that second payload is forgotten.
#[cold]
fn drop_payload(payload: Box<dyn Any + Send>) {
    let _ = catch(|| drop(payload)).map_err(core::mem::forget);
}

/// Runs foreign code, and returns what it panicked with. The panic hook has reported it.
#[cfg(feature = "std")]
#[inline]
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
#[inline]
pub(crate) fn attempt<T>(foreign: impl FnOnce() -> T) -> Option<T> {
    let mut answer = None;
    contain(|| answer = Some(foreign()));
    answer
}

/// Drops what is foreign while something is held that must not get lost.
pub(crate) fn discard<T>(foreign: T) {
    contain(|| drop(foreign));
}
