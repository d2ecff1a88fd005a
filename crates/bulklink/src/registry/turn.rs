//! Whose turn it is to apply a configuration to a registry: one call after the other.

pub(super) use imp::Turn;

/// With threads, a call waits for the one before it, unless it is part of that.
#[cfg(feature = "std")]
mod imp {
    use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
    use std::thread::{self, ThreadId};

    use crate::gate::patience;

    #[derive(Debug, Default)]
    pub(in super::super) struct Turn {
        taken_by: Mutex<Option<ThreadId>>,
        over: Condvar,
    }

    impl Turn {
        /// Takes the turn until the guard is dropped. `None` if this thread has it, or if another
        /// one has it and this call must not wait: that one may wait for the handler which applies.
        pub(in super::super) fn take(&self) -> Option<Taken<'_>> {
            let this = thread::current().id();
            let mut taken_by = self.lock();
            while let Some(other) = *taken_by {
                if other == this || !patience::may_wait() {
                    return None;
                }
                taken_by = self.over.wait(taken_by).unwrap_or_else(PoisonError::into_inner);
            }
            *taken_by = Some(this);
            Some(Taken(self))
        }

        fn lock(&self) -> MutexGuard<'_, Option<ThreadId>> {
            self.taken_by.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    pub(in super::super) struct Taken<'a>(&'a Turn);

    impl Drop for Taken<'_> {
        fn drop(&mut self) {
            *self.0.lock() = None;
            self.0.over.notify_one();
        }
    }
}

/// Without threads to wait on, a call during another one is refused.
#[cfg(not(feature = "std"))]
mod imp {
    use core::sync::atomic::{AtomicBool, Ordering};

    #[derive(Debug, Default)]
    pub(in super::super) struct Turn(AtomicBool);

    impl Turn {
        /// Takes the turn until the guard is dropped. `None` if it is taken.
        pub(in super::super) fn take(&self) -> Option<Taken<'_>> {
            // Acquire and release: a call sees all that the one before it has changed.
            (!self.0.swap(true, Ordering::Acquire)).then_some(Taken(self))
        }
    }

    pub(in super::super) struct Taken<'a>(&'a Turn);

    impl Drop for Taken<'_> {
        fn drop(&mut self) {
            self.0.0.store(false, Ordering::Release);
        }
    }
}
