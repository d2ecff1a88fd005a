//! Containment of foreign code: wakers, handlers and keys may panic wherever they run or are
//! dropped.

use alloc::boxed::Box;
use core::any::Any;
use core::task::Waker;

/// Runs foreign code and catches its panic. Returns whether it returned without one. The panic hook
/// has reported the panic.
#[inline]
pub fn contain(foreign: impl FnOnce()) -> bool {
    match catch(foreign) {
        Ok(()) => true,
        Err(payload) => {
            drop_payload(payload);
            false
        }
    }
}

/// Drops the payload of a panic, which is foreign too. If its drop panics, the second payload is
/// leaked: to drop that could panic again, without end.
#[cold]
fn drop_payload(payload: Box<dyn Any + Send>) {
    let _ = catch(|| drop(payload)).map_err(core::mem::forget);
}

/// Runs foreign code. The panic hook reports a panic.
///
/// # Errors
///
/// The payload, if it panics.
#[cfg(feature = "std")]
#[inline]
pub fn catch<T>(foreign: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(foreign))
}

/// Runs foreign code. Without std, no panic unwinds to here.
///
/// # Errors
///
/// None.
#[cfg(not(feature = "std"))]
#[expect(clippy::unnecessary_wraps, reason = "with std it can fail")]
pub fn catch<T>(foreign: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    Ok(foreign())
}

/// Runs foreign code, and returns its result unless it panics.
#[inline]
pub(crate) fn attempt<T>(foreign: impl FnOnce() -> T) -> Option<T> {
    let mut answer = None;
    contain(|| answer = Some(foreign()));
    answer
}

/// Drops a foreign value and catches its panic, so that the caller loses nothing that it holds,
/// such as a grant.
pub fn discard<T>(foreign: T) {
    contain(|| drop(foreign));
}

/// Wakes tasks. A panic of a waker reaches neither the caller nor the next waker; the panic hook
/// has reported it.
#[inline]
pub fn wake(wakers: impl IntoIterator<Item = Waker>) {
    for waker in wakers {
        contain(|| waker.wake());
    }
}
