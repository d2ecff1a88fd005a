//! The lock, chosen for the platform. Code that runs inside it must not block, wake a task or call
//! foreign code.

/// A mutex that lends its value to a closure, so that no guard can escape.
#[derive(Debug)]
pub(crate) struct Lock<T>(imp::Mutex<T>);

/// A lock for a static.
#[cfg(not(bulklink_loom))]
pub(crate) use self::Lock as Global;

/// A lock for a static, which loom has not, and at which it need not interrupt threads.
#[cfg(bulklink_loom)]
pub(crate) struct Global<T>(std::sync::Mutex<T>);

#[cfg(bulklink_loom)]
impl<T> Global<T> {
    pub(crate) const fn new(value: T) -> Self {
        Global(std::sync::Mutex::new(value))
    }

    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        work(&mut self.0.lock().expect("no panic under the lock"))
    }
}

#[cfg(bulklink_loom)]
mod imp {
    pub(super) use loom::sync::Mutex;

    impl<T> super::Lock<T> {
        pub(crate) fn new(value: T) -> Self {
            super::Lock(Mutex::new(value))
        }

        #[inline]
        pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
            work(&mut self.0.lock().expect("no panic under the lock"))
        }
    }
}

#[cfg(all(feature = "std", not(bulklink_loom)))]
mod imp {
    pub(super) use std::sync::Mutex;
    use std::sync::PoisonError;

    impl<T> super::Lock<T> {
        pub(crate) const fn new(value: T) -> Self {
            super::Lock(Mutex::new(value))
        }

        #[inline]
        pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
            // Poison is ignored: the only foreign code inside compares keys or finds their
            // limits, before any change.
            work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
        }
    }
}

#[cfg(all(feature = "critical-section", not(feature = "std"), not(bulklink_loom)))]
mod imp {
    use core::cell::RefCell;

    pub(super) type Mutex<T> = critical_section::Mutex<RefCell<T>>;

    impl<T> super::Lock<T> {
        pub(crate) const fn new(value: T) -> Self {
            super::Lock(Mutex::new(RefCell::new(value)))
        }

        #[inline]
        pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
            critical_section::with(|section| work(&mut self.0.borrow_ref_mut(section)))
        }
    }
}

#[cfg(not(any(feature = "std", feature = "critical-section", bulklink_loom)))]
compile_error!("bulklink needs a lock: enable the feature `std` or the feature `critical-section`");
