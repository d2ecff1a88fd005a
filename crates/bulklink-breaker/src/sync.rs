//! Locks and atomics: those of the standard library, or of loom, which tries every order of them.

use std::sync::PoisonError;

#[cfg(bulklink_loom)]
pub(crate) use loom::sync::{Mutex, MutexGuard, atomic::AtomicU64};
#[cfg(not(bulklink_loom))]
pub(crate) use std::sync::{Mutex, MutexGuard, atomic::AtomicU64};

/// Locks a mutex under which no foreign code runs, so that poison means nothing.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
