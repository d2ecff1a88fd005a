//! A number that several threads read while one writes it.

#[cfg(target_has_atomic = "64")]
mod imp {
    #[cfg(not(bulklink_loom))]
    use core::sync::atomic::AtomicU64;
    use core::sync::atomic::Ordering;
    #[cfg(bulklink_loom)]
    use loom::sync::atomic::AtomicU64;

    /// A number of 64 bits.
    pub(in crate::readiness) struct Number(AtomicU64);

    impl Number {
        pub(in crate::readiness) fn new(number: u64) -> Self {
            Number(AtomicU64::new(number))
        }

        /// A thread that loads a number sees all that was stored before it.
        #[inline]
        pub(in crate::readiness) fn load(&self) -> u64 {
            self.0.load(Ordering::Acquire)
        }

        /// Loads the number in the thread that writes it.
        #[cfg(not(bulklink_loom))]
        pub(in crate::readiness) fn load_to_write(&self) -> u64 {
            self.0.load(Ordering::Relaxed)
        }

        /// An addition in place of the load, for loom only. Loom remembers the last access to an
        /// atomic only, and tries no order of two loads: so the load before a store would hide the
        /// loads of readers from it.
        #[cfg(bulklink_loom)]
        pub(in crate::readiness) fn load_to_write(&self) -> u64 {
            self.0.fetch_add(0, Ordering::Relaxed)
        }

        pub(in crate::readiness) fn store(&self, number: u64) {
            self.0.store(number, Ordering::Release);
        }
    }
}

#[cfg(not(target_has_atomic = "64"))]
mod imp {
    use crate::gate::lock::Lock;

    /// A number of 64 bits, in a lock, where there is no such atomic.
    pub(in crate::readiness) struct Number(Lock<u64>);

    impl Number {
        pub(in crate::readiness) fn new(number: u64) -> Self {
            Number(Lock::new(number))
        }

        pub(in crate::readiness) fn load(&self) -> u64 {
            self.0.with(|number| *number)
        }

        pub(in crate::readiness) fn load_to_write(&self) -> u64 {
            self.load()
        }

        pub(in crate::readiness) fn store(&self, number: u64) {
            self.0.with(|stored| *stored = number);
        }
    }
}

pub(super) use imp::Number;
