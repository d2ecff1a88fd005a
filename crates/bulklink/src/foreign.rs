//! Foreign code, kept from doing harm: wakers and handlers can panic wherever they run or are dropped.

/// Runs foreign code so that its panic stops nothing else. Returns whether it ended well. The panic hook has reported it.
#[cfg(feature = "std")]
pub(crate) fn contain(foreign: impl FnOnce()) -> bool {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(foreign)).is_ok()
}

/// Without std a panic does not unwind to here.
#[cfg(not(feature = "std"))]
pub(crate) fn contain(foreign: impl FnOnce()) -> bool {
    foreign();
    true
}

/// Drops what is foreign while something is held that must not get lost.
pub(crate) fn discard<T>(foreign: T) {
    contain(|| drop(foreign));
}
