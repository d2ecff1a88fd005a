//! Whether a call may block its thread until its events have been delivered, and how it does so.

#[cfg(feature = "std")]
pub(crate) use with_std::{NoWait, block_on, may_wait};
#[cfg(not(feature = "std"))]
pub(crate) use without_std::{NoWait, block_on, may_wait};

#[cfg(feature = "std")]
mod with_std {
    use core::cell::Cell;
    use core::future::poll_fn;
    use core::task::{Poll, Waker};

    use crate::blocking::thread::Thread;
    use crate::gate::latch::NoTime;

    #[cfg(bulklink_loom)]
    loom::thread_local! { static NO_WAITS: Cell<usize> = Cell::new(0); }
    #[cfg(not(bulklink_loom))]
    std::thread_local! { static NO_WAITS: Cell<usize> = const { Cell::new(0) }; }

    /// While it lives, no call of this thread waits for events to be delivered. A thread that
    /// delivers, or holds what a handler may wait for, would wait for itself.
    pub(crate) struct NoWait(());

    impl NoWait {
        pub(crate) fn begin() -> Self {
            NO_WAITS.with(|count| count.set(count.get() + 1));
            NoWait(())
        }
    }

    impl Drop for NoWait {
        fn drop(&mut self) {
            NO_WAITS.with(|count| count.set(count.get() - 1));
        }
    }

    /// Returns whether the call may wait.
    pub(crate) fn may_wait() -> bool {
        NO_WAITS.with(|count| count.get() == 0)
    }

    /// Blocks the thread until `poll` is ready.
    pub(crate) fn block_on<T>(mut poll: impl FnMut(&Waker) -> Poll<T>) -> T {
        Thread::on(NoTime).block_on(poll_fn(|context| poll(context.waker())))
    }
}

#[cfg(not(feature = "std"))]
mod without_std {
    use core::task::{Poll, Waker};

    /// A thread may be an interrupt that has stopped the one that it would wait for.
    pub(crate) struct NoWait(());

    impl NoWait {
        pub(crate) fn begin() -> Self {
            NoWait(())
        }
    }

    /// Returns whether the call may wait.
    pub(crate) fn may_wait() -> bool {
        false
    }

    pub(crate) fn block_on<T>(_poll: impl FnMut(&Waker) -> Poll<T>) -> T {
        unreachable!("no call may wait")
    }
}
