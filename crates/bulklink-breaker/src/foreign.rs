//! Containment of foreign code: wakers, handlers and payloads may panic wherever they run or are
//! dropped.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs foreign code, and returns the payload if it panics. The panic hook has reported the panic.
pub(crate) fn catch<T>(foreign: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(foreign))
}

/// Runs foreign code and catches its panic.
pub(crate) fn contain(foreign: impl FnOnce()) {
    if let Err(payload) = catch(foreign) {
        // A payload whose drop panics has a second one, which is leaked: to drop that could panic
        // again, without end.
        let _ = catch(|| drop(payload)).map_err(std::mem::forget);
    }
}

/// Drops a foreign value and catches its panic.
pub(crate) fn discard<T>(foreign: T) {
    contain(|| drop(foreign));
}
