//! Whether a call may block its thread until its events have been delivered, and how it does so.

#[cfg(feature = "std")]
pub(crate) use with_std::{block_on, may_wait, this_thread, without_waiting};
#[cfg(not(feature = "std"))]
pub(crate) use without_std::{block_on, may_wait, this_thread, without_waiting};

#[cfg(feature = "std")]
mod with_std {
    use core::cell::Cell;
    use core::future::poll_fn;
    use core::ptr;
    use core::task::{Poll, Waker};

    use crate::blocking::thread::Thread;
    use crate::gate::latch::NoTime;

    #[cfg(bulklink_loom)]
    loom::thread_local! { static MAY_WAIT: Cell<bool> = Cell::new(true); }
    #[cfg(not(bulklink_loom))]
    std::thread_local! { static MAY_WAIT: Cell<bool> = const { Cell::new(true) }; }

    /// Runs foreign code, which does not panic, so that none of its calls waits for events to be
    /// delivered. A thread that delivers, or that others wait for, would wait for itself.
    #[inline]
    pub(crate) fn without_waiting<T>(foreign: impl FnOnce() -> T) -> T {
        let before = MAY_WAIT.with(|may_wait| may_wait.replace(false));
        let value = foreign();
        MAY_WAIT.with(|may_wait| may_wait.set(before));
        value
    }

    /// Returns whether the call may wait.
    pub(crate) fn may_wait() -> bool {
        MAY_WAIT.with(Cell::get)
    }

    /// Returns a number that no other living thread has.
    #[inline]
    pub(crate) fn this_thread() -> usize {
        MAY_WAIT.with(|place| ptr::from_ref(place).addr())
    }

    /// Blocks the thread until `poll` is ready.
    pub(crate) fn block_on<T>(mut poll: impl FnMut(&Waker) -> Poll<T>) -> T {
        Thread::on(NoTime).block_on(poll_fn(|context| poll(context.waker())))
    }
}

/// A thread may be an interrupt that has stopped the one that it would wait for.
#[cfg(not(feature = "std"))]
mod without_std {
    use core::task::{Poll, Waker};

    #[inline]
    pub(crate) fn without_waiting<T>(foreign: impl FnOnce() -> T) -> T {
        foreign()
    }

    pub(crate) fn may_wait() -> bool {
        false
    }

    /// Threads cannot be told apart.
    pub(crate) fn this_thread() -> usize {
        0
    }

    pub(crate) fn block_on<T>(_poll: impl FnMut(&Waker) -> Poll<T>) -> T {
        unreachable!("no call may wait")
    }
}
